"""A tools file is read whole, or refused with a sentence that names file and field."""
from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from pace_ros.llm.tools.declaration import KnowledgeSearch, read_tools
from pace_ros.llm.tools.fields import ToolsError
from pace_ros.llm.tools.http_tool import HttpRequest
from pace_ros.settings import ConfigError

PRICE: dict[str, Any] = {
    'name': 'price', 'kind': 'http', 'description': 'Price of a model.', 'url': 'https://shop.example/price/{model}',
    'parameters': {'type': 'object', 'properties': {'model': {'type': 'string'}}, 'required': ['model']},
}
ANY = {'type': 'object', 'properties': {'model': {'type': 'string'}}}
SEARCH = {'name': 'search', 'kind': 'knowledge', 'description': 'Search the showroom.'}


def read(tmp_path: Path, *tools: object, environment: dict[str, str] | None = None, **more: object) -> Any:
    path = tmp_path / 'tools.yaml'
    path.write_text(yaml.safe_dump({'tools': list(tools), **more}), encoding='utf-8')
    return read_tools(path, environment or {})


def test_defaults(tmp_path: Path) -> None:
    price, search = read(tmp_path, PRICE, SEARCH).tools
    assert isinstance(price.kind, HttpRequest)
    assert (price.kind.method, price.spec.live, price.spec.effects, price.spec.timeout) == ('GET', True, False, 3.0)
    assert search.kind == KnowledgeSearch(4, 0.3)
    assert (search.spec.live, search.spec.effects) == (False, False)
    assert search.spec.fields()['function']['parameters']['required'] == ['query']


def test_whatever_is_no_get_is_taken_to_have_effects(tmp_path: Path) -> None:
    (booking,) = read(tmp_path, {**PRICE, 'method': 'post', 'body': {'model': '{model}'}}).tools
    assert booking.spec.effects
    (asking,) = read(tmp_path, {**PRICE, 'method': 'POST', 'effects': False}).tools
    assert not asking.spec.effects


def test_a_secret_comes_from_the_environment_and_shows_nowhere(tmp_path: Path) -> None:
    tool = {**PRICE, 'secret': {'header': 'Authorization', 'env': 'SHOP_KEY', 'prefix': 'Bearer '}}
    (price,) = read(tmp_path, tool, environment={'SHOP_KEY': 'walrus-0123'}).tools
    assert (price.kind.secret_header, price.kind.secret_prefix, price.kind.secret) == (
        'Authorization', 'Bearer ', 'walrus-0123'
    )
    assert 'walrus' not in repr(price)
    with pytest.raises(ToolsError, match=r"'env' names SHOP_KEY, which is not set in the environment"):
        read(tmp_path, tool)
    with pytest.raises(ToolsError, match=r'too short to be kept secret: under 8 characters'):
        read(tmp_path, tool, environment={'SHOP_KEY': '1234567'})


def test_references_within_the_schema_and_a_query_of_the_url_s_own_are_fine(tmp_path: Path) -> None:
    schema = {**ANY, 'properties': {'model': {'$ref': '#/$defs/name'}, 'owner': {'$ref': '#owner'}},
              '$defs': {'name': {'type': 'string'}, 'owner': {'$anchor': 'owner', 'type': 'string'}}}
    (price,) = read(tmp_path, {**PRICE, 'parameters': schema, 'url': 'https://shop.example/{model}?key=1'}).tools
    assert price.spec.check.read('{"model": "Lark"}') == {'model': 'Lark'}
    with pytest.raises(ValueError, match="argument 'owner': 5 is not of type 'string'"):
        price.spec.check.read('{"owner": 5}')


@pytest.mark.parametrize(('change', 'words'), [
    ({'url': 'http://shop.example/p'}, "must be https outside this machine, not 'http://shop.example/p'"),
    ({'url': 'ftp://shop.example'}, 'must start with http:// or https://'),
    ({'url': 'https://{model}.example/'}, 'must not take its server from an argument'),
    ({'url': 'https://me:secret@shop.example/'}, 'must not hold a user or password'),
    ({'url': 'https://shop.example/{size}'}, r'takes \{size\}, which is not among the parameters'),
    ({'url': 5}, 'must be str, not 5'),
    ({'kind': 'shell'}, "'kind' must be http or knowledge, not 'shell'"),
    ({'name': 'a b'}, 'must be letters, digits'),
    ({'method': 'FETCH'}, "not 'FETCH'"),
    ({'parameters': {'type': 'string'}}, "'parameters' must have 'type: object'"),
    ({'parameters': {'type': 'object', 'properties': {'a': {'type': 'wrong'}}}}, 'is no JSON schema'),
    ({'parameters': {'type': 'object', 'properties': {'a': {'$ref': 'http://x/y'}}}}, 'refer to another document'),
    ({'timeout': 0}, 'must be from 0.05 to 60, not 0'),
    ({'timeout': True}, 'must be int or float, not True'),
    ({'colour': 'red'}, "unknown field 'colour'"),
    ({'secret': {'header': 'a b', 'env': 'X'}}, 'is no name of a header'),
    ({'effects': True, 'live': False}, "'live' must be true with 'effects'"),
    ({'method': 'POST', 'live': False}, "'live' must be true with 'effects'"),
    ({'kind': ['http']}, r"'kind' must be http or knowledge, not \['http'\]"),
    ({'description': ' '}, "'description' must not be empty"),
    ({'description': 'a \ud83d'}, "'description' cannot be sent as JSON"),
    ({'parameters': {**ANY, 'default': datetime.date(2027, 1, 1)}}, "'parameters' cannot be sent as JSON"),
    ({'parameters': {**ANY, 'maxProperties': math.inf}}, "'parameters' cannot be sent as JSON"),
    ({'body': {'day': datetime.date(2027, 1, 1)}}, "'body' cannot be sent as JSON"),
    ({'query': {'most': math.nan}}, "'query' cannot be sent as JSON"),
    ({'parameters': {**ANY, 'properties': {'model': {'$ref': '#/nope'}}}}, "refers by '.ref' to '#/nope'"),
    ({'parameters': {**ANY, 'properties': {'model': {'$ref': '#nope'}}}}, "refers by '.ref' to '#nope'"),
    ({'parameters': {**ANY, 'allOf': [{'$ref': '#'}]}}, 'refers to itself without end'),
    ({'parameters': {**ANY, 'properties': {'model': {}, 'locale': {}}}}, "must not have 'locale'"),
    ({'headers': {'X-A': 'é'}}, "'headers' must give X-A printable ASCII"),
    ({'headers': {'X-A': 'a\nb'}}, "'headers' must give X-A printable ASCII"),
    ({'headers': {'X-A': ['a']}}, "'headers' must give X-A printable ASCII"),
    ({'headers': {'X A': 'a'}}, "'headers' has what is no name of a header: 'X A'"),
    ({'headers': {5: 'a'}}, "'headers' has what is no name of a header: 5"),
    ({'url': 'https://shop.example:99999/x'}, "'url' is no URL"),
    ({'url': 'https://shop.example/x\ty'}, 'must not hold blanks or control characters'),
    ({'url': 'https://shop.example/x y'}, 'must not hold blanks or control characters'),
    ({'url': 'https://shop.example/x?key=1', 'query': {'q': '{model}'}}, r"'url' must not have a \? where there is"),
])
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolsError, match=words) as refused:
        read(tmp_path, {**PRICE, **change})
    assert str(tmp_path / 'tools.yaml') in str(refused.value)


def test_plain_http_is_allowed_to_this_machine_and_where_it_is_said(tmp_path: Path) -> None:
    here = read(tmp_path, {**PRICE, 'url': 'http://127.0.0.1:9/x'})
    said = read(tmp_path, {**PRICE, 'url': 'http://shop.example/x', 'allow_plain_http': True})
    assert (here.tools[0].kind.url, said.tools[0].kind.url) == ('http://127.0.0.1:9/x', 'http://shop.example/x')


@pytest.mark.parametrize('text', ['tools: [', '- a', 'tools: []', 'tools: 3', 'others: []', 'tools: [3]'])
def test_what_is_no_tools_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / 'tools.yaml').write_text(text)
    with pytest.raises(ConfigError, match=r'tools\.yaml'):
        read_tools(tmp_path / 'tools.yaml', {})


def test_two_of_a_name_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(ToolsError, match="two tools named 'search'"):
        read(tmp_path, SEARCH, SEARCH)
    with pytest.raises(ToolsError, match='cannot be read'):
        read_tools(tmp_path / 'none.yaml', {})
