import { readFileSync } from 'node:fs'
import { stateFolder, thisMachine } from '#relay/base/platform/machine.js'
import type { Holder, LoginSettings } from '#relay/auth/client/settings.js'
import type { Configuration, RemoteServer } from '#relay/config/configuration.js'
import type { Identity } from '#relay/core/vocabulary.js'
import { cannotRead } from '#relay/base/errors.js'
import { openBrowser } from '#relay/transport/process/browser.js'
import { isLoopback } from '#relay/base/addresses.js'
import type { Authorizer } from '#relay/transport/upstream/authorized.js'
import { tlsOf } from './upstream.js'

/** Without the key `auth` of a server. */
const usual: LoginSettings = { grant: 'user', loginMs: 300_000 }

/** Makes the login of a client at one server; without `holder` it is that of this process's user. */
type MakeLogin = (holder?: Holder) => Authorizer

/** Logins of clients that are kept for each server; a client that comes again is one of the newest. */
const maxLogins = 1000

/** The logins at one server of the clients of `serve`. */
export class Logins {
  readonly #make: MakeLogin
  readonly #isShared: boolean
  readonly #ofClients = new Map<string, Authorizer>()

  /** @param isShared all clients have the login of this process's user */
  constructor(make: MakeLogin, isShared: boolean) {
    this.#make = make
    this.#isShared = isShared
  }

  of(client: Identity | undefined): Authorizer {
    const holder = this.#isShared ? undefined : holderOf(client)
    const key = JSON.stringify(holder ?? null)
    const login = this.#ofClients.get(key) ?? this.#make(holder)
    this.#ofClients.delete(key)
    this.#ofClients.set(key, login)
    // Its tokens are in its file, so a login that was forgotten is only read again.
    if (this.#ofClients.size > maxLogins) this.#ofClients.delete(this.#ofClients.keys().next().value ?? '')
    return login
  }

  async close(): Promise<void> {
    await Promise.all([...this.#ofClients.values()].map(login => login.close()))
  }
}

/** The logins of the clients of `serve`. @returns undefined where the server gets other credentials */
export const loginsOf = async (
  server: RemoteServer, configuration: Configuration, warn: (message: string) => void,
): Promise<Logins | undefined> => {
  if (configuration.facade !== undefined) return undefined
  const make = await loginAt(server, warn)
  return make && new Logins(make, mayLogIn(server, configuration))
}

/**
 * What gets tokens for a server. It acts when the server asks for a login.
 * @param warn tells the operator
 * @returns undefined where the operator gives the credentials as a header or in the URL, or wants no login
 * @throws CustomsError BAD_CONFIG where the file of the private key cannot be read
 */
const loginAt = async (
  server: RemoteServer, warn: (message: string) => void,
): Promise<MakeLogin | undefined> => {
  if (!wantsLogin(server)) return undefined
  const url = new URL(server.url)
  const [{ Login }, { LoginFolder }] =
    await Promise.all([import('#relay/auth/client/login.js'), import('#relay/auth/client/store.js')])
  const settings = settingsOf(server)
  const folder = new LoginFolder(stateFolder(thisMachine()))
  return holder => new Login({
    url, tls: tlsOf(server), settings, holder, warn, folder,
    show: (start, isNew) => {
      const opened = isNew && openBrowser(start)
      process.stderr.write(`mcp-customs: ${server.name} asks for a login: ${
        opened ? 'a browser was opened; if none appears, ' : ''}open ${start}\n`)
    },
  })
}

/** The login of this process's user. @returns undefined, and throws, as `loginAt` does */
export const authorizerOf = async (
  server: RemoteServer, warn: (message: string) => void,
): Promise<Authorizer | undefined> => (await loginAt(server, warn))?.()

export const wantsLogin = ({ headers, upstream = 'oauth', url }: RemoteServer): boolean =>
  upstream === 'oauth' && !headers.has('authorization') && new URL(url).username === ''

/**
 * Whether all clients of `serve` may use one login: those that show that they are this user, others only
 * where the operator says so, or has given credentials of the relay's own.
 */
export const mayLogIn = ({ login }: RemoteServer, configuration: Reachable): boolean =>
  login?.shared === true || login?.grant === 'client' || isOwnUsers(configuration)

type Reachable = Pick<Configuration, 'listen' | 'issuer' | 'tokens' | 'allowHosts'>

/** Every client shows who it is, so each can have a login of its own. */
export const areNamed = ({ issuer, tokens }: Reachable): boolean =>
  tokens.every(({ name }) => name !== undefined) && (issuer !== undefined || tokens.length > 0)

/** The holder of the login that a client's requests use. The name is empty if the client has none. */
export const holderOf = (client: Identity | undefined): Holder =>
  ({ issuer: client?.issuer ?? '', name: client?.subject ?? client?.name ?? '' })

/**
 * Only the user of this process can connect: with the one token, or to the user's own socket. An address
 * shows nothing: every user of this machine, and whatever a proxy on it lets in, connects from loopback.
 */
export const isOwnUsers = ({ listen, issuer, tokens, allowHosts }: Reachable): boolean => {
  const isOwnPlace = 'socket' in listen && (listen.mode & 0o077) === 0 && allowHosts.every(isLoopback)
  return issuer === undefined && (tokens.length === 1 || (tokens.length === 0 && isOwnPlace))
}

/** Only programs of this machine can connect, as far as the configuration tells. */
export const isLocal = ({ listen, issuer, tokens, allowHosts }: Reachable): boolean =>
  ('socket' in listen ? (listen.mode & 0o077) === 0 : isLoopback(listen.host))
    && issuer === undefined && tokens.length < 2 && allowHosts.every(isLoopback)

export const settingsOf = ({ login }: RemoteServer): LoginSettings => {
  const { client } = login ?? {}
  return login === undefined || client?.privateKey === undefined || client.privateKey.includes('-----BEGIN')
    ? login ?? usual : { ...login, client: { ...client, privateKey: readKey(client.privateKey) } }
}

const readKey = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw cannotRead('BAD_CONFIG', file, cause)
  }
}
