import { actions, type Action, type Policy } from '../core/policy.js'
import type { Powers, Rule, RuleName } from '../core/rule.js'
import * as advice from './advice.js'
import * as annotations from './annotations.js'
import { base64 } from './base64.js'
import * as call from './call.js'
import * as content from './content.js'
import * as definition from './definition.js'
import { dialect, upgraded } from './dialect.js'
import { header } from './header.js'
import { contentHiddenText, toolHiddenText } from './hidden-text.js'
import { icon, withoutHarmful } from './icon.js'
import { mime } from './mime.js'
import * as result from './result.js'
import * as server from './server.js'
import { uri } from './uri.js'
import * as wire from './wire.js'

/** A rule, as it is configured and told to people: presets, the configuration's schema, reports and the README follow from this. */
export interface Row extends Rule {
  /** What the standard policy does about it; advice is for `inspect`, and drift counts for more where there is a lock. */
  readonly standard: Action | { readonly inspect: Action; readonly relay: Action } | { readonly locked: Action; readonly otherwise: Action }
  /** What it finds, in Markdown. */
  readonly title: string
  /** What must be, in one sentence: for reports that are read far from the documentation. */
  readonly text: string
  /** How the rule mends, in Markdown; of those that do. */
  readonly mends?: string
  /** What strict clients do where nobody mends it. */
  readonly refused?: string
}

const row = (
  name: RuleName, standard: Row['standard'], title: string, text: string, powers: Powers, more: Pick<Row, 'mend' | 'mends' | 'refused' | 'needsCheck'> = {},
): Row => ({ name, standard, title, text, ...powers, ...more })

const inInspect = { inspect: 'log', relay: 'off' } as const
const onceLocked = { locked: 'block', otherwise: 'log' } as const
const checked = { needsCheck: true } as const

/** The table of rules, in the order in which findings are reported. */
export const rules: readonly Row[] = [
  row('wire/json', 'block', 'not UTF-8 JSON: noise on stdout, a byte order mark, a truncated message',
    'A message must be UTF-8 JSON, with nothing before or after it.', wire.json),
  row('wire/json-rpc', 'block', 'JSON, but no JSON-RPC 2.0 message that MCP allows',
    'A message must be one that JSON-RPC 2.0 and MCP allow.', wire.jsonRpc),
  row('wire/ambiguous', 'block', 'two parsers could disagree: duplicate keys, lone surrogates, numbers beyond a double, protocol keys in another case',
    'A message must mean the same to every parser: no key twice, no lone surrogate, no number beyond a double.', wire.ambiguous),
  row('wire/size', 'block', 'longer than `messageBytes`, nested deeper than `depth`, or made of very many parts',
    'A message must stay within the limits of size and nesting.', wire.size),
  row('wire/id', 'block', 'a response to nothing asked, by another type or spelling of the id, or a second time',
    'A response must answer a request in flight, once, by its exact id.', wire.id),
  row('wire/http', 'block', 'header and body disagree, or a response that is neither JSON nor SSE, or cannot be decoded',
    'HTTP headers and body must agree, and a response must be JSON or an event stream.', wire.http),
  row('tool/definition', 'block', 'not a tool of the negotiated revision',
    'A tool must be a Tool of the negotiated revision.', definition.definition),
  row('tool/input-type', 'mend', 'an `inputSchema` that does not say `type: "object"`, or has true or false for the schema of a property',
    'An inputSchema must have "type": "object", and objects for the schemas of its properties.', definition.inputType, {
      mend: definition.typed, mends: '`type: "object"` is added where there is no type; `true` becomes `{}`, `false` `{"not":{}}`',
      refused: 'refuse the whole list',
    }),
  row('tool/dialect', 'off', 'a schema that declares another dialect than 2020-12',
    'A schema should be written in JSON Schema 2020-12.', dialect, {
      mend: upgraded, mends: 'rewritten to 2020-12 with the same meaning; what that cannot say exactly is left out for the client, and checked all the same',
      refused: 'refuse the tool, or the whole list',
    }),
  row('list/shape', 'mend', 'a list of tools, prompts, resources or templates that is none of the revision, such as `nextCursor: null`',
    'The result of a method that lists something must be a list of the revision.', definition.list, {
      mend: definition.listed, mends: 'null is removed where no revision knows it; what else is wrong is logged', refused: 'refuse the whole list',
    }),
  row('tool/duplicate', 'block', 'a name listed twice; the first stays',
    'A tool\'s name must be listed once.', definition.duplicate),
  row('tool/name', 'log', 'a name outside `[A-Za-z0-9_.-]{1,128}`',
    'A tool\'s name must be 1 to 128 of the characters A-Z, a-z, 0-9, underscore, hyphen and dot.', definition.name),
  row('tool/schema', 'block', 'a schema that is not valid in its dialect, an unknown dialect, a reference to nothing',
    'A tool\'s schemas must be valid in their dialect, with every reference resolved.', definition.schema),
  row('tool/external-ref', 'block', 'a reference to a file or the network (never fetched)',
    'A tool\'s schemas must not refer to files or to the network.', definition.externalRef),
  row('tool/schema-cost', 'block', 'a schema over the limits for bytes, depth or subschemas, or more tools than `limits.tools`',
    'A tool\'s schemas must stay within the limits of size, depth and number, and a catalogue within that of its tools.', definition.cost),
  row('tool/annotations', 'block', 'annotations of a server that is not trusted',
    'Annotations count only when the operator trusts the server.', annotations.untrusted, {
      mend: annotations.withoutClaims, mends: 'they are removed from the tool, but for the title; `block` does so too',
    }),
  row('tool/contradiction', 'log', 'annotations that contradict each other',
    'Annotations must not contradict each other.', annotations.contradiction),
  row('tool/hidden-text', 'block', 'invisible, bidi-override, tag or terminal-control characters in a definition',
    'A definition must not hold invisible, bidi-override, tag or terminal-control characters.', toolHiddenText),
  row('tool/icon', 'block', 'an icon that is neither `https:` nor `data:image/`',
    'An icon must be https: or data:image/.', icon, {
      mend: withoutHarmful, mends: 'it is removed from the tool; `block` does so too',
    }),
  row('tool/header', 'block', 'an `x-mcp-header` outside the specification\'s rules',
    'An x-mcp-header must keep to the rules of the specification.', header),
  row('tool/drift', onceLocked, 'differs from what this session listed first',
    'A definition must stay what it was when it was accepted, or first listed.', definition.drift),
  row('call/unlisted', 'block', 'a call of a tool that is not in the list',
    'A tool that is called must be in the list.', call.unlisted),
  row('call/denied', 'block', 'a call of a tool that the operator denies',
    'A tool that the operator denies must not be called.', call.denied),
  row('call/arguments', 'log', 'arguments that do not match `inputSchema`',
    'The arguments of a call must match the inputSchema.', call.wrong),
  row('call/unchecked', 'log', 'the arguments could not be checked',
    'It must be possible to check the arguments of a call.', call.unchecked),
  row('call/undeclared', 'log', 'an argument that `properties` does not name, where nothing forbids it',
    'The arguments of a call should be declared by the inputSchema.', call.undeclared),
  row('result/shape', 'block', 'not a tool result of the negotiated revision',
    'The result of a tool must be a CallToolResult of the negotiated revision.', result.shape),
  row('result/missing', 'demote', 'an `outputSchema`, but no `structuredContent`, and no error',
    'A tool with an outputSchema must return structuredContent, or an error.', result.missing, {
      mend: result.promoted, mends: 'the one text block that is JSON and fits becomes `structuredContent`; else the result is demoted',
      refused: 'refuse the result',
    }),
  row('result/schema', 'block', '`structuredContent` that does not match `outputSchema`',
    'structuredContent must match the outputSchema.', result.schema, checked),
  row('result/format', 'log', 'only `format` assertions fail',
    'structuredContent must match the formats that the outputSchema names.', result.format, checked),
  row('result/unchecked', 'block', 'the result could not be checked: no list in time, a schema that does not compile, the budget spent',
    'It must be possible to check a result against its declaration.', result.unchecked, checked),
  row('result/error-structured', 'demote', 'an error whose `structuredContent` does not match',
    'structuredContent of an error must match the outputSchema too.', result.errorStructured, {
      ...checked, mend: result.withoutStructured, mends: '`structuredContent` is removed; what no text says is said in one',
      refused: 'report their own error, and hide the server\'s',
    }),
  row('result/undeclared', 'off', '`structuredContent` without an `outputSchema`',
    'structuredContent must be declared by an outputSchema.', result.undeclared, {
      mend: result.withoutStructured, mends: '`structuredContent` is removed; what no text says is said in one',
    }),
  row('result/text', 'log', 'a text block is JSON and disagrees with `structuredContent`',
    'A text block that is JSON must agree with structuredContent.', result.text, {
      mend: result.agreed, mends: 'the block becomes the JSON of `structuredContent`',
    }),
  row('result/no-text', 'log', '`structuredContent` without any text block',
    'structuredContent should come with a text block, for clients that know only text.', result.noText, {
      mend: result.toldInText, mends: 'a text block with the JSON is added',
    }),
  row('content/type', 'log', 'a content block of a type unknown to the revision',
    'A content block must be of a type that the revision knows.', content.type),
  row('content/base64', 'block', 'image, audio or blob data that is not base64',
    'The data of an image, audio or blob must be base64.', base64),
  row('content/mime', 'log', 'a malformed `mimeType`, or one that the data\'s first bytes contradict',
    'A mimeType must be well-formed, and agree with the data.', mime),
  row('content/uri', 'log', 'a link with a script or credential-bearing scheme, or traversal',
    'A link must not be a script, carry credentials or climb out of its folder.', uri),
  row('content/annotations', 'log', '`priority` outside 0–1, an unknown audience, a `lastModified` that is no ISO 8601 time',
    'The annotations of content must be what the specification allows.', content.annotations),
  row('content/hidden-text', 'log', 'hidden characters in all else that a model reads: results, prompts, resources, instructions, errors, sampling and elicitation requests, progress and log messages',
    'Content must not hold invisible, bidi-override, tag or terminal-control characters.', contentHiddenText),
  row('server/request', 'block', 'the server asks for what the client did not declare',
    'A server must not ask for what the client has not declared.', server.undeclared),
  row('server/sampling', 'off', 'the server asks for sampling at all',
    'The server asks the client\'s model to write.', server.asksForSampling),
  row('server/elicitation', 'off', 'the server asks for elicitation at all',
    'The server asks the client\'s user.', server.asksForElicitation),
  row('server/roots', 'off', 'the server asks for roots at all',
    'The server asks for the client\'s roots.', server.asksForRoots),
  row('advice/json-in-text', inInspect, 'JSON in a text block where structured content is meant',
    'Data is better returned as structuredContent than as JSON in a text.', advice.jsonInText),
  row('advice/no-output-schema', inInspect, 'a tool without an output schema',
    'A tool that declares no outputSchema cannot be held to one.', advice.noOutputSchema),
  row('advice/vague-error', inInspect, 'an error that says nothing to act on',
    'An error should say what went wrong and what to do about it.', advice.vagueError),
  row('advice/duplicated-payload', inInspect, 'the same large payload in text and in structured content',
    'A large structuredContent should not be repeated as text.', advice.duplicatedPayload),
  row('advice/binary-in-text', inInspect, 'binary data in a text block',
    'Binary data belongs into image, audio or resource blocks.', advice.binaryInText),
  row('advice/no-description', inInspect, 'a tool without a description',
    'A tool should have a description: a model chooses by it.', advice.noDescription),
  row('advice/flat-list', inInspect, 'a flat list of paths where a tree is meant',
    'Many paths are shorter and clearer as a tree than as a flat list.', advice.flatList),
]

export type { RuleName } from '../core/rule.js'

export const ruleNames: readonly RuleName[] = rules.map(({ name }) => name)

const known = new Map<string, Row>(rules.map(rule => [rule.name, rule]))

export const ruleNamed = (name: string): Row | undefined => known.get(name)

export const isRuleName = (name: string): name is RuleName => known.has(name)

/**
 * To demote is to keep the result's content blocks: where the blocks themselves are at fault (content/), or there is no
 * result (wire/, tool/, call/, server/), there is nothing to demote to. To mend, a rule must say how.
 */
export const actionsOf = (name: RuleName): readonly Action[] =>
  actions.filter(action => (action !== 'demote' || name.startsWith('result/')) && (action !== 'mend' || known.get(name)?.mend !== undefined))

export const presets = ['observe', 'standard', 'strict', 'compat'] as const

export type Preset = (typeof presets)[number]

export interface Circumstances {
  /** Rules under advice/ are off in relays, unless the operator names them. */
  readonly purpose: 'relay' | 'inspect'
  /** There is a lock file: drift from it counts for more. */
  readonly locked: boolean
}

/** The action of every rule. */
export const presetPolicy = (preset: Preset, circumstances: Circumstances): Map<RuleName, Action> =>
  new Map(rules.map(rule => [rule.name, inPreset(preset, rule, standardOf(rule, circumstances))])) satisfies Policy

const standardOf = ({ standard }: Row, { purpose, locked }: Circumstances): Action => {
  if (typeof standard === 'string') return standard
  if ('inspect' in standard) return standard[purpose]
  return locked ? standard.locked : standard.otherwise
}

const inPreset = (preset: Preset, { name, mend }: Row, action: Action): Action => {
  if (preset === 'compat') return mend === undefined ? action : 'mend'
  if (action === 'off' || preset === 'standard' || name.startsWith('advice/')) return action
  // Whatever is observed: what was too long was not kept, and cannot pass.
  if (preset === 'observe') return name === 'wire/size' ? action : 'log'
  return 'block'
}
