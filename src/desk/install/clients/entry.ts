import { looksLikeUs, readOwnCommand, type Recognizer, type OwnCommand } from '#relay/base/own-command.js'
import type { KnownClient } from './known.js'
import { isTable, isText, isTextList, memberAt, memberOf, repeatedKey, repeatedOn } from './tree.js'
import type { Document, Member, MemberOf, TableValue, TextListValue, TextValue } from './tree.js'

/** A server in a client's configuration. */
export interface ServerEntry {
  readonly name: string
  /**
   * Tells entries with the same name in one file apart: a project's folder, or the path of the table of
   * servers where the file has several such tables.
   */
  readonly scope: string | undefined
  readonly path: readonly string[]
  readonly member: Member
  readonly disabled: boolean
  readonly server: Server
}

export type Server = CommandServer | RemoteEntry | UnknownServer

/** A server that the client starts as a process. */
export interface CommandServer {
  readonly kind: 'command'
  readonly table: TableValue
  readonly command: MemberOf<TextValue>
  readonly args: MemberOf<TextListValue> | undefined
  /** The program and its arguments. */
  readonly words: readonly string[]
  /** Set when the command starts us. */
  readonly own: OwnCommand | undefined
}

/** A server that the client connects to by its URL. */
export interface RemoteEntry {
  readonly kind: 'remote'
  readonly table: TableValue
  readonly url: MemberOf<TextValue>
  readonly type: MemberOf<TextValue> | undefined
  readonly headers: MemberOf<TableValue> | undefined
  /** Codex: the name of the environment variable that holds the bearer token. */
  readonly bearer: MemberOf<TextValue> | undefined
}

interface UnknownServer {
  readonly kind: 'unknown'
  /** Why we must not change this server's entry. */
  readonly reason: string
}

/** The servers of a file, in its order. @param client undefined for a file that was named by its path */
export const entriesOf =
  (document: Document, client: KnownClient | undefined, recognizer: Recognizer): readonly ServerEntry[] =>
    placesOf(document, client).flatMap(({ path, scope }) => {
      const table = memberAt(document.root, path)
      if (table === undefined || !isTable(table)) return []
      return table.value.members.map(member => {
        const own = [...path, member.key]
        const repeated = repeatedOn(document.root, own)
        return {
          name: member.key,
          scope,
          path: own,
          member,
          disabled: isDisabled(member),
          server: repeated === undefined
            ? serverOf(member, recognizer)
            : unknown(`the file has the key ${repeated} twice, and readers differ in which one counts`),
        }
      })
    })

interface Place {
  readonly path: readonly string[]
  readonly scope: string | undefined
}

const everyKey = [['mcpServers'], ['servers'], ['context_servers'], ['mcp_servers'], ['mcp', 'servers']]

/** Claude Code keeps the servers of each project (its scope "local") in the user's own file. */
const placesOf = ({ root }: Document, client: KnownClient | undefined): readonly Place[] => {
  const found =
    (client === undefined ? everyKey : [client.servers]).filter(path => memberAt(root, path) !== undefined)
  const places = found.map(path => ({ path, scope: found.length > 1 ? path.join('.') : undefined }))
  const hasProjects = client === undefined || client.name === 'claude-code'
  const projects = hasProjects ? memberOf(root, 'projects') : undefined
  if (projects === undefined || !isTable(projects)) return places
  return [
    ...places,
    ...projects.value.members.map(({ key }) => ({ path: ['projects', key, 'mcpServers'], scope: key })),
  ]
}

const isDisabled = ({ value }: Member): boolean => {
  const flag = (key: string) => {
    const held = value.kind === 'table' ? memberOf(value, key)?.value : undefined
    return held?.kind === 'other' ? held.value : undefined
  }
  return flag('disabled') === true || flag('enabled') === false
}

const unknown = (reason: string): UnknownServer => ({ kind: 'unknown', reason })

const urlKeys = ['url', 'serverUrl', 'httpUrl']
const headerKeys = ['headers', 'http_headers']

const serverOf = (member: Member, recognizer: Recognizer): Server => {
  if (!isTable(member)) return unknown('is no table of keys')
  const { value: table } = member
  const repeated = repeatedKey(table)
  if (repeated !== undefined) return unknown(`has the key ${repeated} twice`)
  const urls = table.members.filter(({ key }) => urlKeys.includes(key))
  const command = memberOf(table, 'command')
  if (command !== undefined && urls.length > 0) return unknown('has both a command and a URL')
  if (urls.length > 1) return unknown(`has several URLs: ${urls.map(({ key }) => key).join(', ')}`)
  const [url] = urls
  if (command !== undefined) return commandServer(table, command, recognizer)
  return url === undefined ? unknown('has neither a command nor a URL') : remoteServer(table, url)
}

const commandServer = (table: TableValue, command: Member, recognizer: Recognizer): Server => {
  const args = memberOf(table, 'args')
  const type = textOf(table, 'type')
  if (type !== undefined && !['stdio', 'local'].includes(type)) {
    return unknown(`has a command, and the type ${type}`)
  }
  if (!isText(command) || command.value.text === '') return unknown('its command is no text')
  if (args !== undefined && !isTextList(args)) return unknown('its args are no list of texts')
  const words = [command.value.text, ...(args?.value.elements.map(({ text }) => text) ?? [])]
  const own = readOwnCommand(words, recognizer)
  if (own === undefined && looksLikeUs(words, recognizer)) {
    const isMerged = words.at(-1) === '--merge' && recognizer.isOurs(words.slice(0, words.indexOf('wrap')))
    return unknown(isMerged
      ? 'stands for all servers of this file: uninstall brings them back'
      : 'looks like mcp-customs, but is not this program')
  }
  // The command is a whole command line. Some clients run it in a shell; others take it for a program's name.
  if (args === undefined && /^[^\\/\s]+\s/.test(command.value.text)) {
    return unknown('its command is a whole line: write its words into args')
  }
  return { kind: 'command', table, command, args, words, own }
}

/** Keys for ways of signing in that only the client has. Behind mcp-customs it would no longer sign in. */
const signInKeys = [
  'oauth', 'auth', 'authProviderType', 'headersHelper', 'env_http_headers', 'oauth_resource', 'scopes',
  'bearer_token',
]

const remoteServer = (table: TableValue, url: Member): Server => {
  const type = memberOf(table, 'type')
  if (type !== undefined && !isText(type)) return unknown('its type is no text')
  if (type !== undefined && !/^(?:http|sse|streamable[-_]?http)$/i.test(type.value.text)) {
    return unknown(`is of the type ${type.value.text}`)
  }
  if (!isText(url) || !/^https?:\/\//i.test(url.value.text)) return unknown('its URL is no http or https URL')
  const own = table.members.find(({ key }) => signInKeys.includes(key))
  if (own !== undefined) return unknown(`the client itself signs in there (${own.key})`)
  const headers = table.members.find(({ key }) => headerKeys.includes(key))
  if (headers !== undefined && !isHeaders(headers)) return unknown('its headers are no table of texts')
  const bearer = memberOf(table, 'bearer_token_env_var')
  if (bearer !== undefined && !isText(bearer)) return unknown('its bearer_token_env_var is no text')
  const inTheWay = table.members.find(({ key }) =>
    key === 'args' || (headers && key === 'env') || (bearer && key === 'env_vars'))
  if (inTheWay !== undefined) return unknown(`has both a URL and ${inTheWay.key}`)
  return { kind: 'remote', table, url, type, headers, bearer }
}

const isHeaders = (member: Member): member is MemberOf<TableValue> =>
  isTable(member) && repeatedKey(member.value) === undefined && member.value.members.every(isText)

const textOf = (table: TableValue, key: string): string | undefined => {
  const member = memberOf(table, key)
  return member && isText(member) ? member.value.text : undefined
}
