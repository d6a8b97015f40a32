import { type Action, actions, type Policy } from '#core/findings.js'
import type { Powers, Rule, RuleName } from '#core/rule.js'
import * as advice from './advice.js'
import * as call from './call.js'
import * as content from './content.js'
import * as definition from './definition.js'
import { icon, uri, withoutHarmful } from './links.js'
import * as result from './result.js'
import * as server from './server.js'
import * as wire from './wire.js'

/** A row of the table of rules. Presets, the configuration's schema, reports and docs are made from it. */
export interface Row extends Rule {
  /** The action of the standard preset; it may depend on the purpose, or on whether there is a lock file. */
  readonly standard:
    | Action
    | { readonly inspect: Action; readonly relay: Action }
    | { readonly locked: Action; readonly otherwise: Action }
  /** What it finds, in Markdown. */
  readonly title: string
  /** The requirement, in one sentence, for reports. */
  readonly text: string
  /** The advice, in one sentence, to the author of the server, or else to the operator. */
  readonly help: string
  /** How the rule mends, in Markdown. */
  readonly mends?: string
  /** What strict clients do when it is not mended. */
  readonly refused?: string
}

const row = (
  name: RuleName, standard: Row['standard'], title: string, text: string, help: string, powers: Powers,
  more: Pick<Row, 'mend' | 'mends' | 'refused' | 'needsCheck'> = {},
): Row => ({ name, standard, title, text, help, ...powers, ...more })

const inInspect = { inspect: 'log', relay: 'off' } as const
const onceLocked = { locked: 'block', otherwise: 'log' } as const
const checked = { needsCheck: true } as const

/** The table of rules, in the order in which findings are reported. */
export const rules: readonly Row[] = [
  row('wire/json', 'block', 'not UTF-8 JSON: noise on stdout, a byte order mark, a truncated message',
    'A message must be UTF-8 JSON, with nothing before or after it.',
    'Write nothing but messages to stdout, one a line, in UTF-8; logs belong on stderr.', wire.json),
  row('wire/json-rpc', 'block', 'JSON, but no JSON-RPC 2.0 message that MCP allows',
    'A message must be one that JSON-RPC 2.0 and MCP allow.',
    'Send JSON-RPC 2.0 as the negotiated revision has it; batches are for 2025-03-26 alone.', wire.jsonRpc),
  row('wire/ambiguous', 'block',
    'two parsers could disagree: duplicate keys, lone surrogates, numbers beyond a double, protocol ' +
      'keys in another case',
    'A message must mean the same to every parser: no key twice, no lone surrogate, no number beyond a ' +
      'double.',
    'Write messages with a JSON library: no key twice, no half of a surrogate pair, no number beyond a ' +
      'double.', wire.ambiguous),
  row('wire/size', 'block',
    'longer than `messageBytes`, nested deeper than `depth`, or made of very many parts',
    'A message must stay within the limits of size and nesting.',
    'Send less at once (pages, links to resources), or raise limits.messageBytes or limits.depth.',
    wire.size),
  row('wire/id', 'block',
    'a response to nothing asked, by another type or spelling of the id, or a second time',
    'A response must answer a request in flight, once, by its exact id.',
    'Answer each request once, by the id that it came with, in the same type and spelling.', wire.id),
  row('wire/http', 'block',
    'header and body disagree, or a response that is neither JSON nor SSE, or cannot be decoded',
    'HTTP headers and body must agree, and a response must be JSON or an event stream.',
    'Answer with application/json or text/event-stream, and let headers say what the body says.', wire.http),
  row('tool/definition', 'block', 'not a tool of the negotiated revision',
    'A tool must be a Tool of the negotiated revision.',
    'Give the tool a name, an object for its inputSchema, and every field the type that the revision wants.',
    definition.definition),
  row('tool/input-type', 'mend',
    'an `inputSchema` that does not say `type: "object"`, or has true or false for the schema of a property',
    'An inputSchema must have "type": "object", and objects for the schemas of its properties.',
    'Write "type": "object" into the inputSchema, and {} for the true in its properties.',
    definition.inputType, {
      mend: definition.typed,
      mends: '`type: "object"` is added where there is no type; `true` becomes `{}`, `false` `{"not":{}}`',
      refused: 'refuse the whole list',
    }),
  row('tool/dialect', 'off', 'a schema that declares another dialect than 2020-12',
    'A schema should be written in JSON Schema 2020-12.',
    'Write the schema in JSON Schema 2020-12, the dialect that every client knows.', definition.dialect, {
      mend: definition.upgraded,
      mends: 'rewritten to 2020-12 with the same meaning; what that cannot say exactly is left out for the ' +
          'client, and checked all the same',
      refused: 'refuse the tool, or the whole list',
    }),
  row('list/shape', 'mend',
    'a list of tools, prompts, resources or templates that is none of the revision, such as `nextCursor: ' +
      'null`',
    'The result of a method that lists something must be a list of the revision.',
    'Leave out what there is none of (no nextCursor, rather than null), and give every element its name.',
    definition.list, {
      mend: definition.listed,
      mends: 'null is removed where no revision knows it; what else is wrong is logged',
      refused: 'refuse the whole list',
    }),
  row('tool/duplicate', 'block', 'a name listed twice; the first stays',
    'A tool\'s name must be listed once.',
    'List it once, or rename one of the two: only the first can be called.', definition.duplicate),
  row('tool/name', 'log', 'a name outside `[A-Za-z0-9_.-]{1,128}`',
    'A tool\'s name must be 1 to 128 of the characters A-Z, a-z, 0-9, underscore, hyphen and dot.',
    'Rename it: clients refuse such names, or call them something else.', definition.name),
  row('tool/schema', 'block',
    'a schema that is not valid in its dialect, an unknown dialect, a reference to nothing',
    'A tool\'s schemas must be valid in their dialect, with every reference resolved.',
    'Mend the schema at that place; name its dialect in $schema where that is not 2020-12.',
    definition.schema),
  row('tool/external-ref', 'block', 'a reference to a file or the network (never fetched)',
    'A tool\'s schemas must not refer to files or to the network.',
    'Copy what is meant into $defs, and refer to #/$defs/NAME.', definition.externalRef),
  row('tool/schema-cost', 'block',
    'a schema over the limits for bytes, depth or subschemas, or more tools than `limits.tools`',
    'A tool\'s schemas must stay within the limits of size, depth and number, and a catalogue within that ' +
      'of its tools.',
    'Make the schema smaller or list fewer tools, or raise limits.schemaBytes, schemaDepth, subschemas or ' +
      'tools.', definition.cost),
  row('tool/annotations', 'mend', 'annotations of a server that is not trusted',
    'Annotations count only when the operator trusts the server.',
    'Trust the server (--trust, or a trust list) if you believe what it says of its tools.',
    definition.untrusted, {
      mend: definition.withoutClaims,
      mends: 'they are removed from the tool, but for the title; `block` does so too',
    }),
  row('tool/contradiction', 'log', 'annotations that contradict each other',
    'Annotations must not contradict each other.',
    'Say either that it is read-only or that it is destructive; until then, take it for destructive.',
    definition.contradiction),
  row('tool/hidden-text', 'block',
    'invisible, bidi-override, tag or terminal-control characters in a definition',
    'A definition must not hold invisible, bidi-override, tag or terminal-control characters.',
    'Remove the characters. A model reads what you do not see here: find out why it is there before you ' +
      'use the tool.', content.toolHiddenText),
  row('tool/icon', 'mend',
    'an icon that is neither `https:` nor `data:image/`, or a website that is not `https:`; of tools, ' +
      'prompts, resources, content and the server',
    'An icon must be https: or data:image/, and a website https:.',
    'Name icons and websites by https:, or put an icon in as data:image/.', icon, {
      mend: withoutHarmful, mends: 'it is removed; `block` does so too',
    }),
  row('tool/header', 'block', 'an `x-mcp-header` outside the specification\'s rules',
    'An x-mcp-header must keep to the rules of the specification.',
    'Put x-mcp-header on properties of type string, integer or boolean, each with a header name of its own.',
    definition.header),
  row('tool/drift', onceLocked, 'differs from what this session listed first',
    'A definition must stay what it was when it was accepted, or first listed.',
    'Compare it with what you accepted, and use the tool again when you know why it changed.',
    definition.drift),
  row('call/unlisted', 'block', 'a call of a tool that is not in the list',
    'A tool that is called must be in the list.',
    'Call what the list offers, and list again when it has changed.', call.unlisted),
  row('call/denied', 'block', 'a call of a tool that the operator denies',
    'A tool that the operator denies must not be called.',
    'Use another tool, or take the denial out of the configuration.', call.denied),
  row('call/arguments', 'log', 'arguments that do not match `inputSchema`',
    'The arguments of a call must match the inputSchema.',
    'Give the arguments that the inputSchema asks for.', call.wrong),
  row('call/unchecked', 'log', 'the arguments could not be checked',
    'It must be possible to check the arguments of a call.',
    'Make the inputSchema simpler, or raise limits.validationMs.', call.unchecked),
  row('call/undeclared', 'log', 'an argument that `properties` does not name, where nothing forbids it',
    'The arguments of a call should be declared by the inputSchema.',
    'Declare the argument in properties, or leave it out.', call.undeclared),
  row('result/shape', 'block', 'not a tool result of the negotiated revision',
    'The result of a tool must be a CallToolResult of the negotiated revision.',
    'Return content as a list of blocks, as the revision has them.', result.shape),
  row('result/missing', 'demote', 'an `outputSchema`, but no `structuredContent`, and no error',
    'A tool with an outputSchema must return structuredContent, or an error.',
    'Return structuredContent, or declare no outputSchema.', result.missing, {
      mend: result.promoted,
      mends: 'the one text block that is JSON and fits becomes `structuredContent`; else the result is ' +
        'demoted',
      refused: 'refuse the result',
    }),
  row('result/schema', 'block', '`structuredContent` that does not match `outputSchema`',
    'structuredContent must match the outputSchema.',
    'Return what the outputSchema declares, or declare what is returned.', result.schema, checked),
  row('result/format', 'log', 'only `format` assertions fail',
    'structuredContent must match the formats that the outputSchema names.',
    'Write the value in the format that the outputSchema names, or take the format out.',
    result.format, checked),
  row('result/unchecked', 'block',
    'the result could not be checked: no list in time, a schema that does not compile, the budget spent',
    'It must be possible to check a result against its declaration.',
    'Make the schema or the result smaller, or raise limits.validationMs or limits.listMs.',
    result.unchecked, checked),
  row('result/error-structured', 'demote', 'an error whose `structuredContent` does not match',
    'structuredContent of an error must match the outputSchema too.',
    'Leave structuredContent out of errors, or let it match.', result.errorStructured, {
      ...checked, mend: result.withoutStructured,
      mends: '`structuredContent` is removed; what no text says is said in one',
      refused: 'report their own error, and hide the server\'s',
    }),
  row('result/contract', 'log', 'the result breaks the operator\'s `resultSchema`',
    'A result must match the resultSchema that the operator has given for its tool.',
    'Compare the result with the resultSchema; change the schema where the tool is right.', result.contract),
  row('result/undeclared', 'off', '`structuredContent` without an `outputSchema`',
    'structuredContent must be declared by an outputSchema.',
    'Declare an outputSchema for it.', result.undeclared, {
      mend: result.withoutStructured,
      mends: '`structuredContent` is removed; what no text says is said in one',
    }),
  row('result/text', 'log', 'a text block is JSON and disagrees with `structuredContent`',
    'A text block that is JSON must agree with structuredContent.',
    'Write the text from the same data as structuredContent.', result.text, {
      mend: result.agreed, mends: 'the block becomes the JSON of `structuredContent`',
    }),
  row('result/no-text', 'log', '`structuredContent` without any text block',
    'structuredContent should come with a text block, for clients that know only text.',
    'Add a text block with the same data as JSON.', result.noText, {
      mend: result.toldInText, mends: 'a text block with the JSON is added',
    }),
  row('content/type', 'log', 'a content block of a type unknown to the revision',
    'A content block must be of a type that the revision knows.',
    'Use the types that the revision knows: text, image, audio, resource_link, resource.', content.type),
  row('content/base64', 'block', 'image, audio or blob data that is not base64',
    'The data of an image, audio or blob must be base64.',
    'Encode the bytes in standard base64: padded, on one line, without a data: prefix.', content.base64),
  row('content/mime', 'log', 'a malformed `mimeType`, or one that the data\'s first bytes contradict',
    'A mimeType must be well-formed, and agree with the data.',
    'Name the type that the data has, as TYPE/SUBTYPE.', content.mime),
  row('content/uri', 'log', 'a link with a script or credential-bearing scheme, or traversal',
    'A link must not be a script, carry credentials or climb out of its folder.',
    'Do not follow it; link to https:, or to resources of the server\'s own.', uri),
  row('content/annotations', 'log',
    '`priority` outside 0–1, an unknown audience, a `lastModified` that is no ISO 8601 time',
    'The annotations of content must be what the specification allows.',
    'Give a priority from 0 to 1, an audience of user or assistant, a time as ISO 8601 has it.',
    content.annotations),
  row('content/hidden-text', 'log',
    'hidden characters in all else that a model reads: results, prompts, resources, instructions, errors, ' +
      'sampling and elicitation requests, progress and log messages',
    'Content must not hold invisible, bidi-override, tag or terminal-control characters.',
    'Remove the characters. A model reads what you do not see here: find out why it is there.',
    content.contentHiddenText),
  row('server/request', 'block', 'the server asks for what the client did not declare',
    'A server must not ask for what the client has not declared.',
    'Ask only for what the client has declared in its capabilities.', server.undeclared),
  row('server/unchecked', 'log',
    'a request of the server, or the client\'s answer to one, in a session that this relay did not see begin',
    'What the server asks of the client should be checked against what the client declared.',
    'Send all requests of a session to the relay that saw it begin, or let replicas share their state.',
    server.unchecked),
  row('server/sampling', 'off', 'the server asks for sampling at all',
    'The server asks the client\'s model to write.',
    'Allow it (log) for a server that has a reason to use your model.', server.asksForSampling),
  row('server/elicitation', 'off', 'the server asks for elicitation at all',
    'The server asks the client\'s user.',
    'Allow it (log) for a server that has a reason to ask you.', server.asksForElicitation),
  row('server/roots', 'off', 'the server asks for roots at all',
    'The server asks for the client\'s roots.',
    'Allow it (log) for a server that has a reason to know your folders.', server.asksForRoots),
  row('advice/json-in-text', inInspect, 'JSON in a text block where structured content is meant',
    'Data is better returned as structuredContent than as JSON in a text.',
    'Declare an outputSchema, and return the data as structuredContent.', advice.jsonInText),
  row('advice/no-output-schema', inInspect, 'a tool without an output schema',
    'A tool that declares no outputSchema cannot be held to one.',
    'Declare an outputSchema, or have the configuration give the tool one of yours.', advice.noOutputSchema),
  row('advice/vague-error', inInspect, 'an error that says nothing to act on',
    'An error should say what went wrong and what to do about it.',
    'Say what went wrong, with what, and what the caller can try.', advice.vagueError),
  row('advice/duplicated-payload', inInspect, 'the same large payload in text and in structured content',
    'A large structuredContent should not be repeated as text.',
    'Let the text be a summary, or a link to a resource.', advice.duplicatedPayload),
  row('advice/binary-in-text', inInspect, 'binary data in a text block',
    'Binary data belongs into image, audio or resource blocks.',
    'Return it as an image, audio or resource block, or link to it.', advice.binaryInText),
  row('advice/no-description', inInspect, 'a tool without a description',
    'A tool should have a description: a model chooses by it.',
    'Say in a description what the tool does, and when to use it.', advice.noDescription),
  row('advice/flat-list', inInspect, 'a flat list of paths where a tree is meant',
    'Many paths are shorter and clearer as a tree than as a flat list.',
    'Return a tree, or the folders with what is in them.', advice.flatList),
]

export type { RuleName } from '#core/rule.js'

export const ruleNames: readonly RuleName[] = rules.map(({ name }) => name)

const known = new Map<string, Row>(rules.map(rule => [rule.name, rule]))

export const ruleNamed = (name: string): Row | undefined => known.get(name)

export const isRuleName = (name: string): name is RuleName => known.has(name)

/**
 * Demoting keeps the content blocks of a result, so it is possible for rules of result/ only. Mending needs a
 * rule that says how.
 */
export const actionsOf = (name: RuleName): readonly Action[] =>
  actions.filter(action => {
    if (action === 'demote') return name.startsWith('result/')
    return action !== 'mend' || known.get(name)?.mend !== undefined
  })

export const presets = ['observe', 'standard', 'strict', 'compat'] as const

export type Preset = (typeof presets)[number]

export interface Circumstances {
  /** Rules under advice/ are off in relays, unless the operator names them. */
  readonly purpose: 'relay' | 'inspect'
  /** There is a lock file. */
  readonly locked: boolean
}

/** The action of every rule. */
export const presetPolicy = (preset: Preset, circumstances: Circumstances): Map<RuleName, Action> =>
  new Map(rules.map(rule =>
    [rule.name, inPreset(preset, rule, standardOf(rule, circumstances))])) satisfies Policy

const standardOf = ({ standard }: Row, { purpose, locked }: Circumstances): Action => {
  if (typeof standard === 'string') return standard
  if ('inspect' in standard) return standard[purpose]
  return locked ? standard.locked : standard.otherwise
}

const inPreset = (preset: Preset, { name, mend }: Row, action: Action): Action => {
  if (preset === 'compat') return mend === undefined ? action : 'mend'
  if (action === 'off' || preset === 'standard' || name.startsWith('advice/')) return action
  // A message that was too long was not kept, and cannot pass.
  if (preset === 'observe') return name === 'wire/size' ? action : 'log'
  return 'block'
}
