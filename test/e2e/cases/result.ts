import { legacy, modern, outcome, type Case } from '../cases.js'

const text = (words: string) => `{"type":"text","text":${JSON.stringify(words)}}`
const content = (...blocks: readonly string[]) => `"content":[${blocks.join(',')}]`

const weather = '{"type":"object","properties":{"temperature":{"type":"number"}},"required":["temperature"]}'
const dated = '{"type":"object","properties":{"at":{"type":"string","format":"date-time"}}}'

/** The result of a weather tool; as text too, so that nothing but the schema is in question. */
const reported = (structured: string, more = '') =>
  `{${content(text(structured))},"structuredContent":${structured}${more}}`

export const resultCases: readonly Case[] = [
  // result/shape
  outcome('result/shape', 'a result without content is refused', 'block', { result: '{"answer":42}' }),
  outcome(
    'result/shape', 'a result whose content is no list is refused', 'block',
    { result: '{"content":{"type":"text","text":"a"}}' },
  ),
  outcome(
    'result/shape', 'a block that is no object is refused', 'block',
    { result: '{"content":["a"]}', revisions: [legacy] },
  ),
  outcome(
    'result/shape', 'a text block without text is refused', 'block',
    { result: '{"content":[{"type":"text"}]}', revisions: [modern] },
  ),
  outcome(
    'result/shape', 'an image without a media type is refused', 'block',
    { result: '{"content":[{"type":"image","data":"iVBORw0KGgo="}]}', revisions: [legacy] },
  ),
  outcome(
    'result/shape', 'an isError that is no boolean is refused', 'block',
    { result: `{${content(text('a'))},"isError":"false"}` },
  ),
  outcome(
    'result/shape', 'structured content that is a list is refused before 2026-07-28', 'block',
    { result: `{${content(text('[1]'))},"structuredContent":[1]}`, revisions: [legacy] },
  ),
  outcome(
    'result/shape', 'the toolResult form is refused after 2024-11-05', 'block',
    { result: '{"toolResult":{"a":1}}', revisions: [legacy] },
  ),
  outcome(
    'result/shape', 'the toolResult form passes in 2024-11-05', 'pass',
    { result: '{"toolResult":{"a":1}}', revisions: ['2024-11-05'] },
  ),
  outcome('result/shape', 'an empty list of content passes', 'pass', { result: '{"content":[]}' }),
  outcome('result/shape', 'unknown keys, nulls, big numbers and escapes pass byte for byte', 'pass', {
    result: String.raw`{ "content" : [ {"type":"text","text":"a\u003cb<\/\u00e9\ud83d\ude00","x":null} ],"_meta":{"v":1.0,"big":123456789012345678901234567890,"e":1E5},"vendor":{"B":-0.0,"b":[ ]}}`,
  }),

  // result/missing
  outcome('result/missing', 'a result without what its schema promises becomes an error that keeps its text', 'demote', {
    outputSchema: weather, result: `{${content(text('Sunny.'), text('Warm.'))}}`,
    content: `[${text('Sunny.')},${text('Warm.')}]`,
  }),
  outcome('result/missing', 'strictly, such a result is refused', 'block', {
    outputSchema: weather, result: `{${content(text('Sunny.'))}}`, options: ['--policy', 'strict'],
    revisions: [legacy],
  }),
  outcome('result/missing', 'observed, such a result passes', 'log', {
    outputSchema: weather, result: `{${content(text('Sunny.'))}}`, options: ['--policy', 'observe'],
    revisions: [modern],
  }),
  outcome(
    'result/missing', 'an error owes nothing to the schema', 'pass',
    { outputSchema: weather, result: `{${content(text('No such city.'))},"isError":true}` },
  ),
  outcome(
    'result/missing', 'what was promised is there', 'pass',
    { outputSchema: weather, result: reported('{"temperature":21}') },
  ),

  // result/schema
  outcome('result/schema', 'a word where a number was promised is refused', 'block', {
    outputSchema: weather, result: reported('{"temperature":"hot"}'),
    path: '/result/structuredContent/temperature',
  }),
  outcome(
    'result/schema', 'a property that was promised and is missing is refused', 'block',
    { outputSchema: weather, result: reported('{}') },
  ),
  outcome('result/missing', 'null stands for nothing, where the schema refuses it', 'demote', {
    outputSchema: weather, result: `{${content(text('Null.'))},"structuredContent":null}`,
    content: `[${text('Null.')}]`,
  }),
  outcome(
    'result/schema', 'a list is a value, and no object', 'block',
    { outputSchema: weather, result: reported('[]'), revisions: [modern] },
  ),
  outcome(
    'result/schema', 'isError false is no way round the schema', 'block',
    { outputSchema: weather, result: reported('{"temperature":"hot"}', ',"isError":false') },
  ),
  outcome('result/schema', 'a look-ahead is no way round the schema', 'block', {
    outputSchema: '{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)xy$"}}}',
    result: reported('{"a":"no"}'), revisions: [legacy],
  }),
  outcome('result/schema', 'what a look-ahead allows passes', 'pass', {
    outputSchema: '{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)xy$"}}}',
    result: reported('{"a":"xy"}'), revisions: [legacy],
  }),
  outcome('result/schema', 'a pattern that backtracks for ever costs nothing', 'block', {
    outputSchema: '{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}',
    result: reported(`{"a":"${'a'.repeat(40)}!"}`), revisions: [legacy],
  }),
  outcome('result/schema', 'a schema in draft-04 is read as draft-04', 'block', {
    outputSchema: '{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}', result: reported(
      '{"n":0}',
    ), revisions: [legacy],
  }),
  outcome(
    'result/schema', 'observed, a lie passes and is recorded', 'log',
    { outputSchema: weather, result: reported('{"temperature":"hot"}'), options: ['--policy', 'observe'] },
  ),
  outcome('result/schema', 'a rule of the operator replaces the preset', 'log', {
    outputSchema: weather, result: reported('{"temperature":"hot"}'),
    options: ['--rule', 'result/schema=log'], revisions: [legacy],
  }),
  outcome(
    'result/schema', 'the truth passes', 'pass',
    { outputSchema: weather, result: reported('{"temperature":21.50}') },
  ),
  outcome('result/schema', 'a list passes where a list was promised', 'pass', {
    outputSchema: '{"type":"array","items":{"type":"integer"}}', result: reported('[1,2.0]'),
    revisions: [modern],
  }),
  outcome(
    'result/schema', 'null passes where null was promised', 'pass',
    { outputSchema: '{"type":"null"}', result: reported('null'), revisions: [modern] },
  ),

  // result/format
  outcome(
    'result/format', 'a date that is none passes', 'log',
    { outputSchema: dated, result: reported('{"at":"yesterday"}') },
  ),
  outcome(
    'result/format', 'a date is a date', 'pass',
    { outputSchema: dated, result: reported('{"at":"2026-11-20T12:00:00Z"}') },
  ),
  outcome('result/format', 'an unknown format is none', 'pass', {
    outputSchema: '{"type":"object","properties":{"at":{"type":"string","format":"phase-of-moon"}}}',
    result: reported('{"at":"full"}'), revisions: [legacy],
  }),

  // result/unchecked
  outcome('result/unchecked', 'a result that takes too long to check is refused', 'block', {
    outputSchema: String.raw`{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+\\1$"}}}`,
    result: reported(`{"a":"${'a'.repeat(40)}!"}`), revisions: [legacy],
  }),

  // result/error-structured
  outcome('result/error-structured', 'an error with structured content that does not match loses it, and keeps its text', 'demote', {
    outputSchema: weather, result: reported('{"temperature":"hot"}', ',"isError":true'),
    content: `[{"type":"text","text":${JSON.stringify('{"temperature":"hot"}')}}]`,
  }),
  outcome(
    'result/error-structured', 'an error with structured content that matches is fine', 'pass',
    { outputSchema: weather, result: reported('{"temperature":0}', ',"isError":true'), revisions: [legacy] },
  ),

  // result/undeclared
  outcome(
    'result/undeclared', 'structured content that nobody promised passes unremarked', 'pass',
    { result: reported('{"a":1}') },
  ),
  outcome(
    'result/undeclared', 'where the operator wants it, it is refused', 'block',
    { result: reported('{"a":1}'), options: ['--rule', 'result/undeclared=block'], revisions: [legacy] },
  ),

  // result/text
  outcome('result/text', 'text that says something else than the structured content passes', 'log', {
    outputSchema: weather,
    result: `{${content(text('{"temperature":99}'))},"structuredContent":{"temperature":1}}`,
  }),
  outcome('result/text', 'the same in another order and spelling says the same', 'pass', {
    outputSchema: weather,
    result: `{${content(text('{ "b": 2.0, "temperature": 1 }'))},"structuredContent":{"temperature":1,"b":2}}`, revisions: [
      legacy,
    ],
  }),
  outcome('result/text', 'prose says nothing that could differ', 'pass', {
    outputSchema: weather, result: `{${content(text('It is cold.'))},"structuredContent":{"temperature":1}}`,
  }),

  // result/no-text
  outcome(
    'result/no-text', 'structured content without text passes', 'log',
    { outputSchema: weather, result: '{"content":[],"structuredContent":{"temperature":1}}' },
  ),
].flat()
