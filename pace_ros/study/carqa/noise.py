"""Errors like those of speech recognition: homophones, dropped small words, no punctuation, no capitals."""
from __future__ import annotations

import random
import re

_ZH = {
    '质保': '之保', '电池': '电磁', '保养': '包养', '续航': '续行', '后备箱': '后被箱', '月供': '月工', '利率': '利律',
    '现车': '线车', '座位': '坐位', '价格': '加格', '轮毂': '轮鼓', '轴距': '轴具', '扭矩': '牛距', '车长': '车常',
    '车宽': '车筐', '充电': '冲电', '摄像头': '射像头', '气囊': '气馕', '置换': '制换', '租金': '组金', '公里': '公理',
    '扬声器': '洋声器', '半径': '半经', '涉水': '射水', '刹车': '沙车', '加速': '家速', '功率': '公率', '噪音': '造音',
    '优惠': '优会', '试驾': '是驾', '保险': '保鲜', '保费': '宝费', '安装': '安庄', '质量': '治量', '需要': '须要',
    '多长时间': '多常时间', '的': '得', '在': '再', '在哪': '再哪', '屏幕': '平幕', '雷达': '雷打', '补贴': '补铁',
    '提车': '题车', '定金': '订金', '手续费': '手续非', '期限': '其限', '赔': '陪', '停车': '听车', '营业': '赢业',
    '积分': '积粉', '颜色': '严色', '轮胎': '轮抬', '活动': '活洞', '库存': '酷存', '离地': '犁地', '高速': '高素',
}
_EN = {
    'weight': 'wait', 'brake': 'break', 'brakes': 'breaks', 'braking': 'breaking', "what's": 'whats', "i'd": 'id',
    "it's": 'its', 'your': "you're", 'there': 'their', 'buy': 'by', 'would': 'wood', 'roof': 'rough',
    'screen': 'scream', 'range': 'rage', 'torque': 'talk', 'tow': 'toe', 'towing': 'toeing',
    'clearance': 'clarence', 'airbags': 'air bags',
    'wheelbase': 'wheel base', 'warranty': 'warrant he', 'deposit': 'the posit', 'discount': 'this count',
    'legroom': 'leg room', 'speakers': 'speaker', 'cameras': 'camera', 'seats': 'seeds', 'trunk': 'drunk',
    'insurance': 'insurances', 'where': 'wear', 'weeks': 'weaks', 'price': 'prize', 'interval': 'in the vol',
    'kilometers': 'kilometer', 'charger': 'charge her', 'capacity': 'capa city', 'battery': 'batteries',
    'service': 'surface', 'costs': 'cost', 'fee': 'fi', 'tire': 'tyre', 'points': 'point', 'height': 'hide',
    'parking': 'parkin', 'loan': 'lone', 'trial': 'trail', 'install': 'in stall', 'sensors': 'censors',
}
_SMALL = ('the', 'a', 'is', 'does', 'do', 'an', 'are')
_ZH_SMALL = ('的', '了', '是', '一下', '要')
_PUNCTUATION = re.compile(r'[，。？！、；：,.?!;:]+')


def noisy(text: str, language: str, source: random.Random) -> str:
    """A text as a recogniser might have heard it. Numbers and decimal points stay."""
    return _chinese(text, source) if language == 'zh' else _english(text, source)


def _chinese(text: str, source: random.Random) -> str:
    text = _PUNCTUATION.sub('', text)
    heard = [word for word in _ZH if word in text]
    if heard and source.random() < 0.75:
        word = max(source.sample(heard, min(2, len(heard))), key=len)
        text = text.replace(word, _ZH[word], 1)
    elif small := [word for word in _ZH_SMALL if word in text]:
        text = text.replace(source.choice(small), '', 1)
    return text


def _english(text: str, source: random.Random) -> str:
    words = re.sub(r'(?<!\d)[,.?!;:]|[,.?!;:](?!\d)', '', text.lower()).split()
    heard = [place for place, word in enumerate(words) if word in _EN]
    if heard and source.random() < 0.65:
        place = source.choice(heard)
        words[place] = _EN[words[place]]
    small = [place for place, word in enumerate(words) if word in _SMALL]
    if small and source.random() < 0.45:
        del words[source.choice(small)]
    return ' '.join(words)
