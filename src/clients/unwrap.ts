import type { CommandServer } from './entry.js'
import type { Client } from './known.js'
import { innermost, optionsOf, type OwnCommand } from './own-command.js'
import type { Document, Member, MemberOf, Splice, TableValue, TextListValue, TextValue } from './tree.js'
import { isTable, isText, isTextList, memberOf, slice } from './tree.js'
import { readReference, respell, type Spelling } from './wrap.js'

export interface WrappedServer extends CommandServer {
  readonly args: MemberOf<TextListValue>
  readonly own: OwnCommand
}

export const isWrapped = (server: CommandServer): server is WrappedServer =>
  server.own !== undefined && server.args !== undefined

/** Names of a remote server's keys, when no record has them. */
export type KeyNames = Pick<Client, 'url' | 'type' | 'headers'>

/**
 * The changes that unwrap a server, computed from the entry as it is now: other edits since then stay.
 * @param spelling as it was recorded, or undefined
 * @returns a text when the entry cannot be unwrapped: the reason
 */
export const unwrapEdits = (
  document: Document, server: WrappedServer, spelling: Spelling | undefined, keyNames: KeyNames,
): readonly Splice[] | string => {
  const { command, args } = server
  const own = innermost(server.own)
  const elements = args.value.elements
  const target = elements[own.target - 1]
  const [first] = elements
  if (first === undefined || target === undefined) return 'its args do not hold its command'
  if (own.remote) return unwrapRemote(document, server, target, spelling, keyNames)
  if (spelling?.key !== undefined && elements.at(-1) === target) {
    return unwrapSole(document, server, target, spelling.key)
  }
  const next = elements[own.target]
  const { pin } = spelling ?? {}
  return [
    { ...spanOf(command.value), text: slice(document, target) },
    // The target itself went in front as well.
    { from: first.from, to: next?.from ?? target.to, text: '' },
    ...(pin ? respell(document, elements.slice(own.target), pin.to, pin.from) : []),
  ]
}

const spanOf = ({ from, to }: TextValue) => ({ from, to })

/** Removes `command`; `args` gets back its old key and its last element as value (see `wrapSole`). */
const unwrapSole = (
  document: Document, { table, command, args }: WrappedServer, target: TextValue, key: string,
): readonly Splice[] => [
  removal(document, table, command),
  ...args.keys.map(span => ({ ...span, text: key })),
  { from: args.value.from, to: target.from, text: '' },
  { from: target.to, to: args.value.to, text: '' },
]

/** Removes a member with its comma or line. */
const removal = ({ text }: Document, { members }: TableValue, member: Member): Splice => {
  const [{ from, to } = { from: 0, to: 0 }] = member.places
  if (member.layout === 'line') {
    return { from, to: to + (/^[ \t]*(?:#.*)?\r?\n[ \t]*/.exec(text.slice(to))?.[0].length ?? 0), text: '' }
  }
  const index = members.indexOf(member)
  const next = members[index + 1]?.places[0]
  const previous = members[index - 1]?.places[0]
  return next ? { from, to: next.from, text: '' } : { from: previous?.to ?? from, to, text: '' }
}

const unwrapRemote = (
  document: Document, server: WrappedServer, target: TextValue, spelling: Spelling | undefined,
  keyNames: KeyNames,
): readonly Splice[] | string => {
  const { table } = server
  const { options } = innermost(server.own)
  const { spellKey, spellText } = document
  if (server.args.value.elements.at(-1) !== target) return 'its args go on behind its URL'
  const references = optionsOf(options, 'header').map(readReference)
  if (references.includes(undefined)) return 'a header stands in its args'
  const named = references.filter(one => one?.bearer === false).flatMap(one => one ?? [])
  const bearer = references.find(one => one?.bearer === true)
  const type = memberOf(table, 'type')
  const splices = [...unwrapSole(document, server, target, spelling?.key ?? spellKey(keyNames.url))]
  if (type !== undefined && isText(type)) {
    splices.push({ ...spanOf(type.value), text: spelling?.type ?? spellText(keyNames.type) })
  }
  if (named.length > 0 || spelling?.headers !== undefined) {
    const headers = headersOf(table, named.map(({ variable }) => variable))
    if (typeof headers === 'string') return headers
    splices.push(...restoreKeys(headers, spelling?.headers, spellKey(keyNames.headers)))
    const places = headers.value.members.reduce((sum, { keys }) => sum + keys.length, 0)
    const names = spelling?.names?.length === places ? [...spelling.names] : undefined
    for (const member of headers.value.members) {
      const { header = member.key } = named.find(({ variable }) => variable === member.key) ?? {}
      splices.push(...restoreKeys(member, names?.splice(0, member.keys.length), spellKey(header)))
    }
  }
  if (bearer === undefined) return splices
  const variables = memberOf(table, 'env_vars')
  if (variables === undefined || !isTextList(variables)) return 'its env_vars are gone, which named its token'
  const [variable, ...others] = variables.value.elements
  if (variable?.text !== bearer.variable || others.length > 0) {
    return `its env_vars name more than ${bearer.variable}`
  }
  const { from, to } = variables.value
  return [
    ...splices, ...restoreKeys(variables, spelling?.bearer, spellKey('bearer_token_env_var')),
    { from, to, text: slice(document, variable) },
  ]
}

/** The member `env`; a reason when it holds anything but headers, which would become headers too. */
const headersOf = (table: TableValue, variables: readonly string[]): MemberOf<TableValue> | string => {
  const env = memberOf(table, 'env')
  if (env === undefined || !isTable(env)) return 'its env is gone, which held its headers'
  const other = env.value.members.find(({ key }) => !variables.includes(key))
  return other === undefined ? env : `its env holds ${other.key} beside its headers`
}

const restoreKeys = ({ keys }: Member, tokens: readonly string[] | undefined, otherwise: string): Splice[] =>
  keys.map((span, index) =>
    ({ ...span, text: (tokens?.length === keys.length ? tokens[index] : undefined) ?? otherwise }))
