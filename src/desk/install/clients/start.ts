import { CustomsError } from '#relay/base/errors.js'
import type { Environment } from '#relay/base/platform/machine.js'
import type { ServerEntry, Server } from './entry.js'
import { innermost } from '#relay/base/own-command.js'
import { isTable, isText, memberOf, type TableValue } from './tree.js'
import { isWrapped } from './unwrap.js'
import { optionWords } from './wrap.js'

/** How `wrap` starts or reaches the server of an entry, wrapped or not. */
interface Start {
  /** Options of `wrap`, including the values of headers. */
  readonly options: readonly string[]
  /** The server's command line, or its URL alone. */
  readonly target: readonly string[]
  readonly isRemote: boolean
  readonly env: ReadonlyMap<string, string>
  readonly cwd: string | undefined
}

/**
 * @param environment of the client
 * @throws CustomsError BAD_CONFIG for an entry that is not understood, or that the client alone can read
 */
export const startOf = (
  { name, server }: Pick<ServerEntry, 'name' | 'server'>, environment: Environment,
): Start => {
  if (server.kind === 'unknown') return fail(server.reason)
  const filled = (text: string) => fillIn(text, environment)
  const { table } = server
  const env = new Map(textsOf(table, 'env').map(([key, value]) => [key, filled(value)]))
  const common = { env, cwd: cwdOf(table, filled) }
  const own = optionWords({ server: name })
  if (server.kind === 'remote') {
    const target = [filled(server.url.value.text)]
    return { ...common, options: [...own, ...headersOf(server, filled)], target, isRemote: true }
  }
  if (!isWrapped(server)) {
    return { ...common, options: own, target: server.words.map(filled), isRemote: false }
  }
  const { options, target, remote } = innermost(server.own)
  return { ...common, options, target: server.words.slice(target).map(filled), isRemote: remote }
}

const fail = (reason: string): never => {
  throw new CustomsError('BAD_CONFIG', reason)
}

const textsOf = (table: TableValue, key: string): readonly (readonly [string, string])[] => {
  const member = memberOf(table, key)
  const members = member && isTable(member) ? member.value.members : []
  return members.filter(isText).map(one => [one.key, one.value.text])
}

const cwdOf = (table: TableValue, filled: (text: string) => string): string | undefined => {
  const member = memberOf(table, 'cwd')
  return member && isText(member) ? filled(member.value.text) : undefined
}

const headersOf = (
  { headers, bearer }: Server & { kind: 'remote' }, filled: (text: string) => string,
): readonly string[] => [
  ...(headers?.value.members ?? []).filter(isText)
    .flatMap(({ key, value }) => ['--header', `${key}=${filled(value.text)}`]),
  ...(bearer ? ['--header', `Authorization=Bearer {env:${bearer.value.text}}`] : []),
]

/** Clients replace `${env:NAME}` and `${NAME}`; only they can replace references such as `${input:key}`. */
const fillIn = (text: string, environment: Environment): string =>
  text.replace(/\$\{(?:env:)?([^{}]*?)(?::-([^{}]*))?\}/g, (reference, name: string, otherwise?: string) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    return value ?? otherwise ?? fail(`has ${reference} in it, which the client fills in`)
  })
