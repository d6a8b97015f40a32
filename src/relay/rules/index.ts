import { pages } from '#relay/core/findings.js'
import { inCommand, relaxCommand } from '#relay/core/refusal.js'
import {
  type Action, actions, type Policy, type Powers, type Rule, type RuleName,
} from '#relay/core/vocabulary.js'
import * as advice from './advice.js'
import * as call from './call.js'
import * as content from './content.js'
import * as definition from './definition.js'
import { icon, uri, withoutHarmful } from './links.js'
import * as result from './result.js'
import * as server from './server.js'
import * as wire from './wire.js'

/** Whose mistake a finding is. A message of either side may break a rule of `wire/`: its sender made it. */
export type RuleFault = 'server' | 'client' | 'sender' | 'configuration' | 'nobody'

/** A row of the table of rules. Presets, the configuration's schema, reports and docs are made from it. */
export interface Row extends Rule {
  /** The action of the standard preset; it may depend on the purpose, or on whether there is a lock file. */
  readonly standard:
    | Action
    | { readonly inspect: Action; readonly relay: Action }
    | { readonly locked: Action; readonly otherwise: Action }
  /** What it finds: a phrase in Markdown. */
  readonly title: string
  /** What happened, in one sentence for a user who knows neither the protocol nor JSON. */
  readonly means: string
  readonly fault: RuleFault
  /** The advice to the author of the server or client, in one sentence. */
  readonly help: string
  /** What the operator can do, apart from another action for the rule; in the form of `next`. */
  readonly steps: readonly string[]
  /**
   * What the user can do, the best step first. Each step is one sentence in Markdown. What stands between
   * backquotes can be copied, once the words in capitals in it are replaced: NAME, the client's name;
   * COMMAND, the server's command or URL. A step has no full stop.
   */
  readonly next: readonly string[]
  /** How the rule mends, in Markdown. */
  readonly mends?: string
  /** What strict clients do when it is not mended. */
  readonly refused?: string
}

interface More
  extends Partial<Pick<Row, 'steps' | 'fault' | 'mend' | 'mends' | 'refused' | 'needsCheck' | 'relaxed'>> {
  /** False where the finding cannot be let pass, or should not be. */
  readonly mayPass?: boolean
}

const row = (
  name: RuleName, standard: Row['standard'], title: string, means: string, help: string, powers: Powers,
  { steps = [], mayPass = true, fault = faultOf(name), ...more }: More = {},
): Row => ({
  name, standard, title, means, fault, help, steps,
  next: [
    ...(more.relaxed === true ? [relax] : []), ...steps, ...report(fault, help),
    ...(mayPass && more.relaxed !== true ? [letPass(name, standard)] : []),
  ], ...powers, ...more,
})

const faultOf = (name: RuleName): RuleFault =>
  (name.startsWith('wire/') ? 'sender' : name.startsWith('call/') ? 'client' : 'server')

const report = (fault: RuleFault, help: string): readonly string[] => {
  if (fault !== 'server' && fault !== 'sender') return []
  const program = fault === 'server' ? 'the server' : 'the program that sent it'
  return [`Report it to the author of ${program}: ${help.slice(0, -1)}`]
}

const letPass = (name: RuleName, standard: Row['standard']): string => {
  const [log, off] = [`\`--rule ${name}=log\``, `\`--rule ${name}=off\``]
  if (name.startsWith('advice/')) return `To ignore it: ${off}`
  return standard === 'log'
    ? `To let it pass under any policy: ${log}; to ignore it: ${off}`
    : `To let it pass as it is: ${log}`
}

/** Letting it pass as it is helps nobody: strict clients refuse it. */
const relax = 'Let the tool work all the same: `mcp-customs relax SERVER TOOL` (without TOOL: all of the server\'s; of a ' +
  'gateway: with --config FILE)'

const inInspect = { inspect: 'log', relay: 'off' } as const
const onceLocked = { locked: 'block', otherwise: 'log' } as const
const relaxable = { relaxed: true } as const
const checked = { needsCheck: true } as const
const nobody = { fault: 'nobody' } as const
const accept =
  '`mcp-customs lock --server SERVER` (shows the change, and asks whether you accept it; of a gateway: with ' +
  '--config FILE), or else remove the server'
const beware = {
  steps: [
    'Ask the author of the server why the characters are there before you use it, or remove the server ' +
      'from the client',
  ],
}

/** The table of rules, in the order in which findings are reported. */
export const rules: readonly Row[] = [
  row('wire/json', 'block', 'not UTF-8 JSON: noise on stdout, a byte order mark, a truncated message',
    'The message cannot be read: it is not JSON, often because a program printed a log line where only ' +
      'messages belong.',
    'Write nothing but messages to stdout, one a line, in UTF-8; logs belong on stderr.', wire.wireJson),
  row('wire/json-rpc', 'block', 'JSON, but not a JSON-RPC 2.0 message that MCP allows',
    'The message is not one that MCP allows, so it cannot be said for sure what it asks or answers.',
    'Send JSON-RPC 2.0 as the negotiated revision defines it; batches are for 2025-03-26 alone.',
    wire.jsonRpc, {
      mend: {},
      mends: 'null is removed, and `[]` becomes `{}`, for `params`, and in them for `arguments` and `_meta`; ' +
        'any other such message is blocked',
      refused: 'refuse the message',
    }),
  row('wire/ambiguous', 'block',
    'two parsers could read it differently: duplicate keys, lone surrogates, numbers beyond a double, ' +
      'protocol keys in another case',
    'The message can be read in two ways, so the receiver could understand another one than was checked.',
    'Write messages with a JSON library: no key twice, no half of a surrogate pair, no number beyond a ' +
      'double.', wire.ambiguous),
  row('wire/size', 'block',
    'longer than `messageBytes`, nested deeper than `depth`, or made of very many parts',
    'The message is longer, or nested deeper, than the limits allow.',
    'Send less at once: pages, or links to resources.', wire.wireSize, {
      mayPass: false, steps: ['Raise `limits.messageBytes` or `limits.depth` in the configuration'],
    }),
  row('wire/id', 'block',
    'an id that belongs to no open request (unasked, answered already, of another type or spelling), or ' +
      'one that is in use; progress under a token that no request gave is logged',
    'The message has the id of no open request, or an id that is already in use.',
    'Answer each request once, by the id that it came with, in the same type and spelling.', wire.id),
  row('wire/http', 'block',
    'headers and body disagree, or a response that is neither JSON nor SSE, or cannot be decoded',
    'The HTTP headers do not fit the message, or the response cannot be decoded.',
    'Answer with application/json or text/event-stream, and make the headers agree with the body.',
    wire.wireHttp),
  row('wire/revision', 'block', 'a client or server that speaks an older revision of MCP than `minRevision`',
    'The client or the server speaks an older version of MCP than your configuration allows.',
    'Update the program to a newer revision of MCP.', wire.revision, {
      steps: ['Update the program, or allow an older revision with `minRevision` in the configuration'],
    }),
  row('tool/definition', 'block', 'a tool definition that the negotiated revision does not allow',
    'The server describes a tool in a way that MCP does not allow, so clients may refuse all its ' +
      'tools.',
    'Give the tool a name, an object for its inputSchema, and every field the type that the revision wants.',
    definition.definitionRules, {
      ...relaxable,
      mend: definition.withObjects,
      mends: '`[]` becomes `{}` where every revision has an object; what else is wrong blocks the tool',
      refused: 'refuse the whole list',
    }),
  row('tool/input-type', 'mend',
    'an `inputSchema` that does not say `type: "object"`, or has true or false for the schema of a property',
    'The server describes the arguments of a tool in a way that makes strict clients refuse all its tools.',
    'Write "type": "object" into the inputSchema, and {} for the true in its properties.',
    definition.inputType, {
      mend: definition.typed,
      mends: '`type: "object"` is added where there is no type; `true` becomes `{}`, `false` `{"not":{}}`',
      refused: 'refuse the whole list',
    }),
  row('tool/dialect', 'off', 'a schema that declares another dialect than 2020-12',
    'The server describes a tool in an older dialect of JSON Schema, which strict clients refuse.',
    'Write the schema in JSON Schema 2020-12, the dialect that every client knows.', definition.dialect, {
      steps: ['Have it rewritten for the client: `--rule tool/dialect=mend`'],
      mend: definition.upgraded,
      mends: 'rewritten to 2020-12 with the same meaning; a part that 2020-12 cannot express exactly is ' +
        'left out for the client, and checked all the same',
      refused: 'refuse the tool, or the whole list',
    }),
  row('list/shape', 'mend',
    'a list of tools, prompts, resources or templates that the revision does not allow, such as one with ' +
      '`nextCursor: null`',
    'The server\'s list has values that MCP does not allow there, so strict clients refuse it.',
    'Leave a member out where it has no value, in place of null, and give every element its name.',
    definition.list, {
      mend: definition.listed,
      mends: 'null is removed where no revision knows it; under `compat` the client gets all pages of a ' +
        'list as one; other problems are logged',
      refused: 'refuse the whole list',
    }),
  row('tool/duplicate', 'block', 'a name listed twice; the first tool stays',
    'The server lists two tools under one name, and a call could not say which of them is meant.',
    'List it once, or rename one of the two: only the first can be called.', definition.duplicate),
  row('resource/duplicate', 'log',
    'a URI, at the merged endpoint, that a server before it lists too; it stays that of the first, whatever the action',
    'A server behind the merged endpoint lists a resource under the URI of another one, which keeps it.',
    'Begin the URIs of your resources with a scheme or a host of your own.', {}, {
      ...nobody, steps: ['Name the server that shall have it first in `merge.servers`, or leave one of them out'],
    }),
  row('tool/name', 'log', 'a name outside `[A-Za-z0-9_.-]{1,128}`',
    'The tool has a name that some clients refuse or change, because of its characters or its length.',
    'Rename it: clients refuse such names, or call them something else.', definition.name),
  row('tool/schema', 'block',
    'a schema that is not valid in its dialect, an unknown dialect, a `$ref` that leads nowhere',
    'The server\'s schema of a tool\'s arguments or result has a mistake, so nothing can be checked ' +
      'against it.',
    'Mend the schema at that place; name its dialect in $schema where that is not 2020-12.',
    definition.definitionSchema, {
      ...relaxable,
      mend: definition.repaired,
      mends: 'each keyword with a broken value is left out, for the client and for the check',
      refused: 'refuse the whole list',
    }),
  row('tool/external-ref', 'block', 'a `$ref` to a file or the network (never fetched)',
    'The server\'s description of a tool refers to a file or to the network, which is never fetched, so ' +
      'nothing can be checked by it.',
    'Copy the schema into $defs, and refer to #/$defs/NAME.', definition.externalRef),
  row('tool/schema-cost', 'block',
    'a schema over the limits for bytes, depth or subschemas, or more tools than `limits.tools`',
    'The server describes a tool at such length, or lists so many tools, that checking could take too long.',
    'Make the schema smaller, or list fewer tools.', definition.cost, {
      steps: ['Raise `schemaBytes`, `schemaDepth`, `subschemas` or `tools` of `limits` in the configuration'],
    }),
  row('tool/annotations', 'mend', 'annotations of a server that is not trusted',
    'The server makes claims about its tool (such as "only reads") that you have not vouched for, so the ' +
      'claims are left out; the tool works all the same.',
    'Trust the server (--trust, or a trust list) if you believe what it says of its tools.',
    definition.toolAnnotations, {
      ...nobody, steps: ['Trust the server, if you know it: `--trust`', accept], mayPass: false,
      mend: definition.withoutAnnotations,
      mends: 'they are removed from the tool, but for the title; `block` does so too',
    }),
  row('tool/contradiction', 'log', 'annotations that contradict each other',
    'The server says of a tool that it only reads, and also that it may destroy something.',
    'Say either that it is read-only or that it is destructive; until then, take it for destructive.',
    definition.contradiction),
  row('tool/hidden-text', 'block',
    'invisible, bidi-override, tag or terminal-control characters in a definition',
    'The description of a tool has characters that people do not see and a model reads, which is how ' +
      'hidden instructions are given.',
    'Remove the characters, which a model reads and people do not see.', content.toolHiddenText,
    beware),
  row('tool/icon', 'mend',
    'an icon that is neither `https:` nor `data:image/`, or a website that is not `https:`; of tools, ' +
      'prompts, resources, content and the server',
    'The server names an icon or a website by an unsafe address, which is left out.',
    'Name icons and websites by https:, or put an icon in as data:image/.', icon, {
      mend: withoutHarmful, mends: 'it is removed; `block` does so too', mayPass: false,
    }),
  row('tool/header', 'block', 'an `x-mcp-header` outside the specification\'s rules',
    'A tool wants an argument sent as an HTTP header in a way that MCP does not allow.',
    'Put x-mcp-header on properties of type string, integer or boolean, each with a header name of its own.',
    definition.header),
  row('tool/profile', 'mend',
    'what the client refuses of a tool, by a [profile](clients.md) that you chose',
    'The client would refuse the tool as the server describes it, or the whole list because of it.',
    'Describe the tool so that every client takes it: `mcp-customs inspect --profile NAME` says what to ' +
      'change.',
    definition.profile, {
      ...nobody, mend: definition.fitted,
      steps: ['See what each client refuses: `mcp-customs inspect --profile NAME COMMAND`'],
      mends: 'rewritten for the client, which may accept more than the server does; calls are checked by ' +
        'the server\'s own schema',
      refused: 'refuse the tool, or the whole list',
    }),
  row('tool/drift', onceLocked, 'differs from the lock, or from what this session listed first',
    'The server changed this after it was accepted, or first listed, and what it says now may lead a model ' +
      'to do something else.',
    'Compare it with what you accepted, and use the tool again when you know why it changed.',
    definition.drift, { ...nobody, steps: [accept] }),
  row('call/unlisted', 'block', 'a call of a tool that is not in the list',
    'The client called a tool that the server does not offer, or that is held back.',
    'Call what the list offers, and list again when it has changed.', call.unlisted, {
      mayPass: false,
      steps: [
        'See which tools clients get, which are missing, and why: `mcp-customs tools`',
        'Restart the client if it knows an old list of tools',
      ],
    }),
  row('call/denied', 'block', 'a call of a tool that the operator denies',
    'The client called a tool that your configuration denies.',
    'Use another tool, or take the denial out of the configuration.', call.denied, {
      fault: 'configuration', mayPass: false,
      steps: ['To allow the tool, take it out of `deny`, or its own `deny` out of `tools`, in the ' +
        'configuration'],
    }),
  row('call/rate', 'block', 'more calls by one client than `callsPerMinute` of the tool allows',
    'The client called a tool more often than your configuration allows.',
    'Wait as long as the answer says, and call the tool again.', call.rate, {
      fault: 'configuration', steps: ['Raise `callsPerMinute` of the tool in the configuration'],
    }),
  row('call/arguments', 'log', 'arguments that do not match `inputSchema`',
    'The client (or its model) gave a tool arguments that its input schema does not allow.',
    'Give the arguments that the inputSchema asks for.', call.wrong, {
      steps: ['Have the model told of its mistake before the server sees the call: ' +
        '`--rule call/arguments=block`'],
    }),
  row('call/unchecked', 'log', 'the arguments could not be checked',
    'The arguments of a call could not be checked against its input schema.',
    'Make the inputSchema simpler.', call.uncheckedCall, {
      fault: 'server', steps: ['Raise `limits.validationMs` in the configuration'],
    }),
  row('call/undeclared', 'log', 'an argument that `properties` does not name, where nothing forbids it',
    'The client gave a tool an argument that the tool does not know, perhaps under a misspelt name.',
    'Declare the argument in properties, or leave it out.', call.undeclaredCall),
  row('result/shape', 'block', 'a result that the negotiated revision does not allow',
    'The server\'s answer is not a tool result that a client can read.',
    'Return content as a list of blocks, as the revision has them.', result.resultShape, {
      ...relaxable,
      mend: result.shaped,
      mends: 'a null is removed, and `[]` becomes `{}`, where no revision knows it; `structuredContent` that is ' +
        'no object is removed where the tool declares no schema; missing content becomes a text of the data',
      refused: 'refuse the result',
    }),
  row('result/missing', 'demote', 'an `outputSchema`, but no `structuredContent`, and no error',
    'The tool promises structured data, and its answer has none.',
    'Return structuredContent, or declare no outputSchema.', result.missing, {
      ...relaxable, ...checked,
      mend: result.promoted,
      mends: 'the tool is shown without `outputSchema`; the one text block that is JSON and fits becomes ' +
        '`structuredContent`, else the result passes as it is; null is removed',
      refused: 'refuse the result',
    }),
  row('result/schema', 'block', '`structuredContent` that does not match `outputSchema`',
    'The tool\'s answer is not what the tool promises: a value is missing, or is of another kind.',
    'Return what the outputSchema declares, or declare what is returned.', result.resultSchema, {
      ...relaxable, ...checked,
      mend: result.taken,
      mends: 'the tool is shown without `outputSchema`; `structuredContent` is removed where a text is left',
      refused: 'refuse the result',
    }),
  row('result/format', 'log', 'only `format` assertions fail',
    'A value in the tool\'s answer is not written in the format that the tool promises, such as a date.',
    'Write the value in the format that the outputSchema names, or take the format out.',
    result.format, {
      ...relaxable, ...checked,
      mend: result.unformatted,
      mends: 'the tool is shown without `outputSchema`; the result passes as it is',
      refused: 'refuse the result',
    }),
  row('result/unchecked', 'block',
    'the result could not be checked: no list in time, a schema that does not compile, the budget spent',
    'The tool\'s answer could not be checked against the schema that the tool promises.',
    'Make the schema or the result smaller.', result.uncheckedResult, {
      ...checked, steps: ['Raise `limits.validationMs` or `limits.listMs` in the configuration'],
    }),
  row('result/error-structured', 'demote', 'an error whose `structuredContent` does not match',
    'The tool failed, and the data beside its error is not what the tool promises, for which strict ' +
      'clients hide the error.',
    'Leave structuredContent out of errors, or let it match.', result.errorStructured, {
      ...checked, mend: result.withoutStructured,
      mends: '`structuredContent` is removed; what no text says is said in one',
      refused: 'report their own error, and hide the server\'s',
    }),
  row('result/contract', 'log', 'the result breaks the operator\'s `resultSchema`',
    'The tool\'s answer is not what your configuration asks of it.',
    'Compare the result with the resultSchema; change the schema where the tool is right.', result.contract, {
      ...nobody, steps: ['Compare the result with the `resultSchema` in the configuration, and change the ' +
        'schema where the tool is right'],
    }),
  row('result/size', 'log', 'a result that is longer than `resultBytes` of the tool allows',
    'The tool\'s answer is longer than your configuration allows.',
    'Return less at once: pages, filters, or links to resources.', result.resultSize, {
      fault: 'configuration', steps: [
        'Raise `resultBytes` of the tool in the configuration',
        'Have clients get the first part of such an answer, and how much is missing: ' +
          '`--rule result/size=demote`',
      ],
    }),
  row('result/undeclared', 'off', '`structuredContent` without an `outputSchema`',
    'The tool returns structured data that it never declared, so nothing can be checked.',
    'Declare an outputSchema for it.', result.undeclaredResult, {
      mend: result.withoutStructured,
      mends: '`structuredContent` is removed; what no text says is said in one',
    }),
  row('result/text', 'log', 'a text block is JSON and disagrees with `structuredContent`',
    'The tool\'s answer says one thing in its text and another in its structured data.',
    'Write the text from the same data as structuredContent.', result.resultText, {
      mend: result.agreed, mends: 'the block becomes the JSON of `structuredContent`',
    }),
  row('result/no-text', 'log', '`structuredContent` without any text block',
    'The tool\'s answer has structured data and no text, so clients that know only text show nothing.',
    'Add a text block with the same data as JSON.', result.noText, {
      ...relaxable, mend: result.toldInText, mends: 'a text block with the JSON is added',
    }),
  row('content/type', 'log', 'a content block of a type unknown to the revision',
    'The server sent a kind of content that this version of MCP does not know.',
    'Use the types that the revision knows: text, image, audio, resource_link, resource.', content.type),
  row('content/base64', 'block', 'image, audio or blob data that is not base64',
    'An image, a sound or a file from the server is damaged: its data cannot be decoded.',
    'Encode the bytes in standard base64: padded, on one line, without a data: prefix.', content.base64),
  row('content/mime', 'log', 'a malformed `mimeType`, or one that the data\'s first bytes contradict',
    'The server says that a file is of one kind, and its data is of another.',
    'Name the type that the data has, as TYPE/SUBTYPE.', content.mime),
  row('content/uri', 'log', 'a link with a script or credential-bearing scheme, or traversal',
    'The server sent a link that runs a script, carries a password or leads out of its folder.',
    'Link to https:, or to resources of the server\'s own.', uri, { steps: ['Do not follow the link'] }),
  row('content/annotations', 'log',
    '`priority` outside 0–1, an unknown audience, a `lastModified` that is not an ISO 8601 time',
    'The server sent hints about its content (priority, audience, date) with values that MCP does not allow.',
    'Give a priority from 0 to 1, an audience of user or assistant, a time in ISO 8601.',
    content.contentAnnotations),
  row('content/hidden-text', 'log',
    'hidden characters in all else that a model reads: results, prompts, resources, instructions, errors, ' +
      'sampling and elicitation requests, progress and log messages',
    'The server sent text with characters that people do not see and a model reads, which is how hidden ' +
      'instructions are given.',
    'Remove the characters, which a model reads and people do not see.', content.contentHiddenText,
    beware),
  row('server/request', 'block', 'the server asks for what the client did not declare',
    'The server asked the client for something that the client does not offer: its model, its user or its ' +
      'folders.',
    'Ask only for what the client has declared in its capabilities.', server.undeclaredServer),
  row('server/unchecked', 'log',
    'a request of the server, or the client\'s answer to one, in a session that this relay did not see begin',
    'The server asked the client for something in a session that began before this relay or at another, so ' +
      'it is not known what the client offers.',
    'Send all requests of a session to the relay that saw it begin, or let replicas share their state.',
    server.uncheckedServer, nobody),
  row('server/sampling', 'off', 'the server asks for sampling, declared or not',
    'The server asked the client\'s model to write something.',
    'Allow it (log) for a server that has a reason to use your model.', server.asksForSampling, nobody),
  row('server/elicitation', 'off', 'the server asks for elicitation, declared or not',
    'The server asked the client\'s user a question.',
    'Allow it (log) for a server that has a reason to ask you.', server.asksForElicitation, nobody),
  row('server/roots', 'off', 'the server asks for roots, declared or not',
    'The server asked which folders the client works in.',
    'Allow it (log) for a server that has a reason to know your folders.', server.asksForRoots, nobody),
  row('advice/json-in-text', inInspect, 'JSON in a text block where structured content is meant',
    'The tool returns its data as JSON inside a text, where no client can check it.',
    'Declare an outputSchema, and return the data as structuredContent.', advice.jsonInText),
  row('advice/no-output-schema', inInspect, 'a tool without an output schema',
    'The tool does not say what it returns, so its answers cannot be checked.',
    'Declare an outputSchema, or have the configuration give the tool one of yours.', advice.noOutputSchema),
  row('advice/vague-error', inInspect, 'an error that does not say what to do',
    'The tool\'s error does not say what went wrong or what to do about it.',
    'Say what went wrong, with what, and what the caller can try.', advice.vagueError),
  row('advice/duplicated-payload', inInspect, 'the same large payload in text and in structured content',
    'The tool sends the same large data twice, as text and as structured data.',
    'Let the text be a summary, or a link to a resource.', advice.duplicatedPayload),
  row('advice/binary-in-text', inInspect, 'binary data in a text block',
    'The tool sends binary data (such as an image) inside a text.',
    'Return it as an image, audio or resource block, or link to it.', advice.binaryInText),
  row('advice/no-description', inInspect, 'a tool without a description',
    'The tool has no description, so a model cannot know when to use it.',
    'Say in a description what the tool does, and when to use it.', advice.noDescription),
  row('advice/flat-list', inInspect, 'a flat list of paths where a tree is meant',
    'The tool returns many paths one by one, where a tree is shorter and clearer.',
    'Return a tree, or the folders with what is in them.', advice.flatList),
]

export type { RuleName } from '#relay/core/vocabulary.js'

export const ruleNames: readonly RuleName[] = rules.map(({ name }) => name)

const known = new Map<string, Row>(rules.map(rule => [rule.name, rule]))

export const ruleNamed = (name: string): Row | undefined => known.get(name)

/** A text in Markdown, for a terminal or a log. */
export const inText = (markdown: string): string => markdown.replaceAll('`', '')

/**
 * What findings of a rule mean, and what to do, as text.
 * @param server its name takes the place of `SERVER` in commands, unless a shell could misread it
 * @param tool the same for `TOOL`
 * @returns undefined for a rule of a later version
 */
export const explained = (
  name: string, server = '', tool = '',
): Pick<Row, 'means' | 'next'> | undefined => {
  const row = known.get(name)
  const told = (step: string) =>
    inText(step.replace(relaxWords, relaxCommand(server, tool)).replace('SERVER', inCommand(server, 'SERVER')))
  return row && { means: row.means, next: [...row.next.map(told), `More: mcp-customs explain ${row.name}`] }
}

const relaxWords = relaxCommand('SERVER', 'TOOL')

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
export const presetPolicy = (preset: Preset, circumstances: Circumstances): Map<RuleName, Action> => {
  const policy = new Map(rules.map(rule =>
    [rule.name, inPreset(preset, rule, standardOf(rule, circumstances))])) satisfies Policy
  return preset === 'compat' ? policy.set(pages, 'mend') : policy
}

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
