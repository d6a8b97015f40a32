import { definition, legacy, modern, type Case } from '../cases.js'

const input = '"inputSchema":{"type":"object"}'
const tool = (more: string, name = 'suspect') => `{"name":"${name}",${more}}`
const withInput = (schema: string) => tool(`"inputSchema":${schema}`)
const withOutput = (schema: string) => tool(`${input},"outputSchema":${schema}`)

const nested = (depth: number): string =>
  `{"type":"object","not":${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}}`

const many = (count: number): string =>
  `{"type":"object","properties":{${Array.from({ length: count }, (_, index) => `"p${index}":{"type":"string"}`).join(',')}}}`

const annotated = (annotations: string) => tool(`${input},"annotations":${annotations}`)

export const toolCases: readonly Case[] = [
  // tool/definition
  definition(
    'tool/definition', 'a tool without a name goes, the others stay', 'block',
    `{"description":"Nameless.",${input}}`,
  ),
  definition(
    'tool/definition', 'a tool whose name is a number goes', 'block', `{"name":5,${input}}`,
    { revisions: [legacy] },
  ),
  definition('tool/definition', 'a tool without an input schema goes', 'block', '{"name":"suspect"}'),
  definition(
    'tool/definition', 'a tool whose input schema is a string goes', 'block', withInput('"object"'),
    { also: ['tool/schema'] },
  ),
  definition(
    'tool/definition', 'a tool whose description is no text goes', 'block',
    tool(`"description":["a"],${input}`),
  ),
  definition(
    'tool/definition', 'a tool whose title is no text goes', 'block', tool(`"title":1,${input}`),
    { revisions: [modern] },
  ),
  definition(
    'tool/definition', 'a tool whose icons are no list goes', 'block',
    tool(`${input},"icons":"https://a.example/i.png"`), { also: ['tool/icon'] },
  ),
  definition(
    'tool/definition', 'a tool that is no object goes', 'block', '"suspect"', { revisions: [legacy] },
  ),
  definition('tool/definition', 'keys that nobody knows stay where they are, numbers as they are spelled', 'pass', tool(
    String.raw`"x-vendor":{"b":1.0,"a":12345678901234567890,"n":null}, "inputSchema" : {"type":"object","x":"\u003c<"},"_meta":{"k":[]}`,
  )),

  // tool/input-type
  definition('tool/input-type', 'an input schema without a type gets one', 'mend', withInput(
    '{"properties":{"a":{"type":"string"}}}',
  ), {
    cut: '{"properties":{"a":{"type":"string"}}}',
    made: '{"properties":{"a":{"type":"string"}},"type":"object"}',
  }),
  definition('tool/input-type', 'a boolean for a schema is spelt out', 'mend', withInput(
    '{"type":"object","properties":{"a": true}}',
  ), {
    cut: 'true', made: '{}', revisions: [legacy],
  }),
  definition(
    'tool/input-type', 'an input schema of another type goes', 'block', withInput('{"type":["object"]}'),
  ),
  definition(
    'tool/input-type', 'an input schema of type object is fine', 'pass',
    withInput('{"type":"object","properties":{"a":{"type":"string"}}}'),
  ),

  // tool/dialect
  definition(
    'tool/dialect', 'another dialect is nobody\'s concern', 'pass',
    withInput('{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}'),
    { revisions: [legacy] },
  ),
  definition('tool/dialect', 'where all is mended, it is rewritten', 'mend', withInput(
    '{"type":"object", "$schema":"http://json-schema.org/draft-07/schema#"}',
  ), {
    cut: 'http://json-schema.org/draft-07/schema#', made: 'https://json-schema.org/draft/2020-12/schema',
    options: ['--policy', 'compat'],
  }),

  // list/shape
  definition(
    'list/shape', 'what is null goes, where it need not be there', 'mend',
    tool(`"description":null,${input}`),
    { cut: '"description":null,', also: ['tool/definition', 'tool/schema'] },
  ),

  // tool/duplicate
  definition(
    'tool/duplicate', 'the second tool of a name goes', 'block',
    tool(`"description":"An impostor.",${input}`, 'honest'),
  ),
  definition('tool/duplicate', 'a name that differs in case is another name', 'pass', tool(input, 'Honest')),

  // tool/name
  definition('tool/name', 'a name with a space passes', 'log', tool(input, 'two words')),
  definition(
    'tool/name', 'a name that is too long passes', 'log', tool(input, 'x'.repeat(129)),
    { revisions: [legacy] },
  ),
  definition(
    'tool/name', 'a name beyond ASCII passes', 'log', tool(input, 'ünïcode'), { revisions: [modern] },
  ),
  definition(
    'tool/name', 'a name of every kind of character is fine', 'pass',
    tool(input, 'get_a.B-9' + 'x'.repeat(119)),
  ),

  // tool/schema
  definition(
    'tool/schema', 'an input schema with an unknown type goes', 'block',
    withInput('{"type":"object","properties":{"a":{"type":"text"}}}'),
  ),
  definition(
    'tool/schema', 'an output schema whose reference leads nowhere goes', 'block',
    withOutput('{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}'),
  ),
  definition(
    'tool/schema', 'a dialect that nobody knows goes', 'block',
    withInput('{"$schema":"https://a.example/dialect","type":"object"}'),
  ),
  definition(
    'tool/schema', 'a pattern that is no expression goes', 'block',
    withInput('{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}'),
    { revisions: [legacy] },
  ),
  ...['http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-06/schema#', 'http://json-schema.org/draft-04/schema#',
    'https://json-schema.org/draft/2019-09/schema', 'https://json-schema.org/draft/2020-12/schema'].map(dialect =>
    definition(
      'tool/schema', `the dialect ${dialect} is known`, 'pass',
      withInput(`{"$schema":"${dialect}","type":"object","properties":{"a":{"type":"string"}}}`),
      { revisions: [legacy] },
    )),
  definition(
    'tool/schema', 'a reference within the schema is fine', 'pass',
    withOutput('{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}'),
  ),
  definition(
    'tool/schema', 'a look-ahead is an expression', 'pass',
    withInput('{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=a)a+$"}}}'),
    { revisions: [legacy] },
  ),

  // tool/external-ref
  definition(
    'tool/external-ref', 'a reference to the network goes', 'block',
    withInput('{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/schema.json"}}}'),
  ),
  definition(
    'tool/external-ref', 'a reference to a file goes', 'block',
    withOutput('{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}'),
  ),
  definition(
    'tool/external-ref', 'a reference to an official meta-schema is none to the network', 'pass',
    withInput('{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}'),
  ),

  // tool/schema-cost
  definition(
    'tool/schema-cost', 'a schema that is nested too deep goes', 'block', withInput(nested(70)),
    { revisions: [modern] },
  ),
  definition(
    'tool/schema-cost', 'a schema of too many subschemas goes', 'block', withInput(many(5001)),
    { revisions: [legacy] },
  ),
  definition(
    'tool/schema-cost', 'a schema of too many bytes goes', 'block',
    withInput(`{"type":"object","description":"${'x'.repeat(262_144)}"}`), { revisions: [legacy] },
  ),
  definition(
    'tool/schema-cost', 'a schema within the limits is fine', 'pass', withInput(many(1000)),
    { revisions: [legacy] },
  ),

  // tool/annotations
  definition('tool/annotations', 'annotations of a server that is not trusted are removed', 'mend', annotated(
    '{"readOnlyHint":true}',
  ), {
    cut: ',"annotations":{"readOnlyHint":true}',
  }),
  definition('tool/annotations', 'a closed world is a claim like any other, a title is none', 'mend', annotated(
    '{"openWorldHint":false,"title":"Safe"}',
  ), {
    cut: '"openWorldHint":false,',
  }),
  definition(
    'tool/annotations', 'a title alone stays, and so does nothing at all', 'pass',
    annotated('{"title":"Look around"}'),
  ),
  definition(
    'tool/annotations', 'annotations of a server that the operator trusts stay', 'pass',
    annotated('{"readOnlyHint":true,"destructiveHint":false}'), { options: ['--trust'] },
  ),
  definition('tool/annotations', 'nobody invents annotations', 'pass', tool(input, 'delete_everything')),
  definition(
    'tool/annotations', 'observed, annotations stay', 'log', annotated('{"readOnlyHint":true}'),
    { options: ['--policy', 'observe'], revisions: [legacy] },
  ),

  // tool/contradiction
  definition(
    'tool/contradiction', 'a tool that only reads and destroys passes', 'log',
    annotated('{"readOnlyHint":true,"destructiveHint":true}'), { options: ['--trust'] },
  ),
  definition(
    'tool/contradiction', 'strictly, such a tool goes', 'block',
    annotated('{"readOnlyHint":true,"destructiveHint":true}'),
    { options: ['--trust', '--policy', 'strict'], revisions: [modern] },
  ),
  definition(
    'tool/contradiction', 'a tool that writes and destroys is consistent', 'pass',
    annotated('{"readOnlyHint":false,"destructiveHint":true}'), { options: ['--trust'], revisions: [legacy] },
  ),

  // tool/hidden-text
  definition(
    'tool/hidden-text', 'a description in tag characters goes', 'block',
    tool(`"description":"Adds.\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}",${input}`),
  ),
  definition(
    'tool/hidden-text', 'a description with a bidi override goes', 'block',
    tool(`"description":"Adds \u202eevil",${input}`), { revisions: [legacy] },
  ),
  definition(
    'tool/hidden-text', 'an escaped terminal control goes', 'block',
    tool(String.raw`"description":"\u001b[2KAdds",${input}`), { revisions: [legacy] },
  ),
  definition(
    'tool/hidden-text', 'zero-width text inside a schema goes', 'block',
    withInput('{"type":"object","properties":{"a":{"description":"a\u200bb"}}}'),
  ),
  definition(
    'tool/hidden-text', 'a title with a word joiner goes', 'block', tool(`"title":"a\u2060b",${input}`),
    { revisions: [modern] },
  ),
  definition(
    'tool/hidden-text', 'hidden text in the output schema goes', 'block',
    withOutput('{"type":"object","title":"\u{e0041}"}'), { revisions: [modern] },
  ),
  definition(
    'tool/hidden-text', 'emoji, their joiners and selectors are no hidden text', 'pass',
    tool(`"description":"👩‍👩‍👧‍👦 ❤️ 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣",${input}`),
  ),
  definition(
    'tool/hidden-text', 'joiners where a script needs them, and no-break spaces, are no hidden text', 'pass',
    tool(`"description":"می‌خواهم क्‍ष 10\u00a0km\\n\\tindented",${input}`),
  ),

  // tool/icon
  definition('tool/icon', 'an icon that is a script is taken away', 'mend', tool(
    `${input},"icons":[{"src":"javascript:alert(1)"}]`,
  ), {
    cut: '{"src":"javascript:alert(1)"}',
  }),
  definition('tool/icon', 'an icon without encryption is taken away, the other stays', 'mend',
    tool(
      `${input},"icons":[{"src":"https://a.example/i.png"},{"src":"http://a.example/i.png"}]`,
    ), { cut: ',{"src":"http://a.example/i.png"}' }),
  definition(
    'tool/icon', 'icons by https and data are fine', 'pass',
    tool(
      `${input},"icons":[{"src":"https://a.example/i.png","sizes":["48x48"]},{"src":"data:image/png;base64,iVBORw0KGgo="}]`,
    ),
  ),

  // tool/header
  definition(
    'tool/header', 'an empty header name goes', 'block',
    withInput('{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}'),
    { revisions: [modern] },
  ),
  definition(
    'tool/header', 'a header name with a line end goes', 'block',
    withInput(String.raw`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}`),
    { revisions: [modern] },
  ),
  definition('tool/header', 'a header name twice, whatever its case, goes', 'block', withInput(
    '{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}}}',
  ), { revisions: [modern] }),
  definition(
    'tool/header', 'a header of type number goes', 'block',
    withInput('{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}'),
    { revisions: [modern] },
  ),
  definition('tool/header', 'a header out of static reach goes', 'block', withInput(
    '{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}',
  ), { revisions: [modern] }),
  definition('tool/header', 'headers within the rules are fine', 'pass', withInput(
    '{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"object","properties":{"c":{"type":"integer","x-mcp-header":"Count"}}}}}',
  ), { revisions: [modern] }),

  // advice/*: heard in `inspect` alone.
  definition(
    'advice/no-description', 'good practice is no business of a relay', 'pass',
    '{"name":"bare","inputSchema":{"type":"object","properties":{"a":{}}}}', { revisions: [legacy] },
  ),
].flat()
