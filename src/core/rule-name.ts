/** Every rule of the contract (section 4), in the order in which findings are reported. */
export const ruleNames = [
  'wire/json', 'wire/json-rpc', 'wire/ambiguous', 'wire/size', 'wire/id', 'wire/http',
  'tool/definition', 'tool/input-type', 'tool/duplicate', 'tool/name', 'tool/schema', 'tool/external-ref', 'tool/schema-cost',
  'tool/annotations', 'tool/contradiction', 'tool/hidden-text', 'tool/icon', 'tool/header', 'tool/drift',
  'call/unlisted', 'call/denied', 'call/arguments', 'call/unchecked',
  'result/shape', 'result/missing', 'result/schema', 'result/format', 'result/unchecked', 'result/error-structured',
  'result/undeclared', 'result/text', 'result/no-text',
  'content/type', 'content/base64', 'content/mime', 'content/uri', 'content/annotations', 'content/hidden-text',
  'server/request', 'server/sampling', 'server/elicitation', 'server/roots',
  'advice/json-in-text', 'advice/no-output-schema', 'advice/vague-error', 'advice/duplicated-payload', 'advice/binary-in-text',
  'advice/no-description', 'advice/flat-list',
] as const

export type RuleName = (typeof ruleNames)[number]

const known: ReadonlySet<string> = new Set(ruleNames)

export const isRuleName = (name: string): name is RuleName => known.has(name)
