"""Tool calls as model families and servers write them into the text of an answer, each with the same call."""
from __future__ import annotations

CALL = '{"name": "price", "arguments": {"model": "Lark"}}'
LARK = '{"model": "Lark"}'
XML = '<parameter=model>\nLark\n</parameter>'
PYTHON = 'price(model="Lark")'
LEAKED = {
    'hermes': f'<tool_call>\n{CALL}\n</tool_call>',
    'hermes, cut': f'<tool_call>{CALL}',
    'hermes, attribute': f'<tool_call name="price">{LARK}</tool_call>',
    'hermes, blank': f'<tool_call >\n{CALL}\n</tool_call >',
    'hermes, escaped': f'&lt;tool_call&gt;{CALL}&lt;/tool_call&gt;',
    'jamba': f'<tool_calls>[{CALL}]</tool_calls>',
    'nemotron': f'<TOOLCALL>[{CALL}]</TOOLCALL>',
    'longcat': f'<longcat_tool_call>{CALL}</longcat_tool_call>',
    'tool': f'<tool>{CALL}</tool>',
    'tool use': f'<tool_use>{CALL}</tool_use>',
    'function': f'<function>{CALL}</function>',
    'function call': f'<functioncall> {CALL}',
    'qwen coder': f'<tool_call>\n<function=price>\n{XML}\n</function>\n</tool_call>',
    'seed': f'<seed:tool_call>\n<function=price>\n{XML}\n</function>\n</seed:tool_call>',
    'glm': '<tool_call>price\n<arg_key>model</arg_key>\n<arg_value>Lark</arg_value>\n</tool_call>',
    'minimax': '<minimax:tool_call>\n<invoke name="price">\n<parameter name="model">Lark</parameter>\n</invoke>\n'
               '</minimax:tool_call>',
    'anthropic': '<function_calls><invoke name="price"><parameter name="model">Lark</parameter></invoke>'
                 '</function_calls>',
    'with a namespace': '<x:function_calls>\n<x:invoke name="price">\n<x:parameter name="model">Lark</x:parameter>\n'
                        '</x:invoke>\n</x:function_calls>',
    'attributes': '<function name="price"><param name="model">Lark</param></function>',
    'llama function': f'<function=price>{LARK}</function>',
    'llama python tag': f'<|python_tag|>{CALL}<|eom_id|>',
    'llama built-in': '<|python_tag|>price.call(model="Lark")',
    'llama bare': '{"type": "function", "name": "price", "parameters": {"model": "Lark"}}',
    'pythonic': f'[{PYTHON}]',
    'pythonic, blanks': f'[\n  {PYTHON}\n]',
    'pythonic, alone': PYTHON,
    'olmo': f'<function_calls>{PYTHON}</function_calls>',
    'lfm': f'<|tool_call_start|>[{PYTHON}]<|tool_call_end|>',
    'mistral': f'[TOOL_CALLS] [{CALL}]',
    'mistral, new': f'[TOOL_CALLS]price[ARGS]{LARK}',
    'mistral, id': f'[TOOL_CALLS]price[CALL_ID]abc123456[ARGS]{LARK}',
    'mistral, bare': f'price[ARGS]{LARK}',
    'tool request': f'[TOOL_REQUEST]\n{CALL}\n[END_TOOL_REQUEST]',
    'gemma': f'```tool_code\nprint({PYTHON})\n```',
    'gemma, tag': f'<tool_code>\nprint({PYTHON})\n</tool_code>',
    'gemma, python': f'```python\nprint(default_api.{PYTHON})\n```',
    'gemma, PY': f'```PY\n{PYTHON}\n```',
    'gemma function': '<start_function_call>call:price{model:<escape>Lark<escape>}<end_function_call>',
    'gemma 4': '<|tool_call>call:price{model:<|"|>Lark<|"|>}<tool_call|>',
    'fenced': f'```json\n{CALL}\n```',
    'fenced, JSON': f'```JSON\n[{CALL}]\n```',
    'fenced, no language': f'```\n{CALL}\n```',
    'fenced, xml': f'```xml\n<tool_call>{CALL}</tool_call>\n```',
    'bare': CALL,
    'bare list': f'[{CALL}]',
    'bare, indented': '{\n  "name": "price",\n  "arguments": {\n    "model": "Lark"\n  }\n}',
    'bare, braces': f'{{{CALL}}}',
    'bare, single quotes': "{'name': 'price', 'arguments': {'model': 'Lark'}}",
    'bare, id': '[{"tool_call_id": "0", "tool_name": "price", "parameters": {"model": "Lark"}}]',
    'apertus': '<|tools_prefix|>[{"price": {"model": "Lark"}}]<|tools_suffix|>',
    'apertus, bare': '[{"price": {"model": "Lark"}}]',
    'openai': '{"tool_calls": [{"type": "function", "function": {"name": "price", '
              '"arguments": "{\\"model\\": \\"Lark\\"}"}}]}',
    'openai, one': '{"id": "call_1", "type": "function", "function": {"name": "price", '
                   '"arguments": "{\\"model\\": \\"Lark\\"}"}}',
    'openai, old': f'{{"function_call": {CALL}}}',
    'tool_call': f'{{"tool_call": {CALL}}}',
    'langchain': '{"action": "price", "action_input": {"model": "Lark"}}',
    'react': f'Action: price\nAction Input: {LARK}',
    'cohere': '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "price", "parameters": {"model": "Lark"}}]'
              '<|END_ACTION|>',
    'cohere, old': 'Action: ```json\n[{"tool_name": "price", "parameters": {"model": "Lark"}}]\n```',
    'name and colon': f'price: {LARK}',
    'phi': f'functools[{CALL}]',
    'phi 4': f'<|tool_call|>[{CALL}]<|/tool_call|>',
    'gigachat': f'function call{CALL}',
    'internlm': f'<|action_start|><|plugin|>\n{CALL}<|action_end|>',
    'kimi': f'<|tool_calls_section_begin|><|tool_call_begin|>functions.price:0<|tool_call_argument_begin|>{LARK}'
            '<|tool_call_end|><|tool_calls_section_end|>',
    'kimi, bare': f'functions.price:0{LARK}',
    'deepseek': '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>price\n'
                f'```json\n{LARK}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    'deepseek, inner': f'<｜tool▁call▁begin｜>price<｜tool▁sep｜>{LARK}<｜tool▁call▁end｜>',
    'deepseek 3.2': '<｜DSML｜function_calls>\n<｜DSML｜invoke name="price">\n'
                    '<｜DSML｜parameter name="model" string="true">Lark</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
                    '</｜DSML｜function_calls>',
    'step': '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="price">'
            '<steptml:parameter name="model">Lark</steptml:parameter></steptml:invoke><｜tool_call_end｜>',
    'harmony': f'<|start|>assistant<|channel|>commentary to=functions.price <|constrain|>json<|message|>{LARK}<|call|>',
    'harmony, channel': f'<|channel|>commentary to=functions.price <|constrain|>json<|message|>{LARK}<|call|>',
    'harmony, role': f'<|start|>assistant to=functions.price<|channel|>commentary json<|message|>{LARK}<|call|>',
    'harmony, recipient': f'to=functions.price<|channel|>commentary <|constrain|>json<|message|>{LARK}<|call|>',
    'harmony, stripped': f'commentary to=functions.price json{LARK}',
    'harmony, joined': f'assistantcommentary to=functions.price json{LARK}',
}
# What a model makes up as the answer of a tool, or is left of a call: no call, and not heard.
MADE_UP = {
    'hermes': '<tool_response>\n{"price": 5}\n</tool_response>',
    'result': '<tool_result>12</tool_result>',
    'output': '<tool_output>12</tool_output>',
    'anthropic': '<function_results>12</function_results>',
    'mistral': '[TOOL_RESULTS] 12 [/TOOL_RESULTS]',
    'gemma': '```tool_outputs\n12\n```',
    'deepseek': '<｜tool▁outputs▁begin｜>12<｜tool▁outputs▁end｜>',
    'harmony': '<|start|>functions.price to=assistant<|channel|>commentary<|message|>{"price": 5}<|end|>',
    'analysis': '<|channel|>analysis<|message|>They ask for a price.<|end|>'
                '<|start|>assistant<|channel|>final<|message|>',
    'closing tag': '</tool_call>',
    'closing bracket': '[/TOOL_CALLS]',
    'closing parameter': '</parameter>',
    'special token': '<|eom_id|>',
}
ORDINARY = [
    'It is 3 < 5, and a < b.', 'A set {1, 2, 3} and {} and { }.', 'See [1], [price] and [a].',
    '5 < 6 and <b>bold</b>.',
    'Use `ls` or ```sh\nls\n```.',
    'It is `code` and ``x`` more.', 'Use ```json {"name": "Lark"} ``` here.',
    '```python\nprint("hello")\nx = f(1)\n```', '**Bold**, _thin_ and # heading\n- one\n- two\n\n| a | b |\n|---|---|',
    'the price(s) of {"colour": "red"}', '{"name": "Lark"}', '{"type": "range", "value": 3} km', '<b>bold</b> and <3',
    '[price(s) depend on the trim] and it is white.', 'Prices [price(net)] are low. Ask me more.',
    '{"name": "Lark", "input": "hybrid"} is the row. Then more.', '{"function": "heating", "args": "none"}. More',
    '[{"name": "Lark", "price": 12400}, {"name": "Owl", "price": 9900}] are the two.', '{"id": 5, "name": "Lark"}',
    '{"type": "SUV", "options": {"name": "red"}} yes', '{"index": 1} {"action": "none"}', "{'name': 'Lark'} it is",
    '[the brochure](https://shop.example/lark) and [tools](https://shop.example/tools)',
    'Our price: {12,400} euros, price(model) or price == 5.', 'The tools and functions of the car; Action: come by.',
    'From 9 to 5, to=you, commentary to the race, function calls and all.', 'Go to https://x.example/?a=<b>&c=d. Then',
    'a <| b |> c', 'x << y', 'He said <|', 'R&D <thinking about it> I would', 'We have {model} in stock. Yes.',
    '价格是<五万>元{约}', 'if f(x) < {y} then [z]', '12,400 € [incl. VAT], $5, 5%, "quoted" (aside)', '<th>x',
    'ends with <', 'ends with {', 'ends with [', '`', 'ends with price', 'ends with to', 'Our list: {"a": "b"',
    'See <https://shop.example/tools> or <https://shop.example/tool-kit.html>. Then', 'Mail <tools@shop.example>. Then',
    '<http://tool.example/?a=1> or <mailto:tools@shop.example>. Then', 'ends with <https://shop.example/tools',
]
