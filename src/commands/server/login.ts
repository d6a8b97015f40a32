import { readFileSync } from 'node:fs'
import { stateFolder } from '#audit/place.js'
import type { LoginSettings } from '#auth/client/user-login.js'
import type { Configuration, RemoteServer } from '#config/configuration.js'
import { cannotRead } from '#errors.js'
import { openBrowser } from '#transport/process/browser.js'
import type { Authorizer } from '#transport/upstream/authorized.js'

/** Without the key `auth` of a server. */
const usual: LoginSettings = { grant: 'user', loginMs: 300_000 }

/**
 * What gets tokens for a server. It acts when the server asks for a login.
 * @param warn tells the operator
 * @returns undefined where the operator gives the credentials as a header or in the URL, or wants no login
 * @throws CustomsError BAD_CONFIG where the file of the private key cannot be read
 */
export const authorizerOf = async (
  server: RemoteServer, warn: (message: string) => void,
): Promise<Authorizer | undefined> => {
  if (!wantsLogin(server)) return undefined
  const url = new URL(server.url)
  const [{ Login }, { LoginFolder }] =
    await Promise.all([import('#auth/client/login.js'), import('#auth/client/store.js')])
  return new Login({
    url, settings: settingsOf(server), folder: new LoginFolder(stateFolder(process.env)), warn,
    show: (start, isNew) => {
      const opened = isNew && openBrowser(start)
      process.stderr.write(`mcp-customs: ${server.name} asks for a login: ${
        opened ? 'a browser was opened; if none appears, ' : ''}open ${start}\n`)
    },
  })
}

export const wantsLogin = ({ headers, upstream = 'oauth', url }: RemoteServer): boolean =>
  upstream === 'oauth' && !headers.has('authorization') && new URL(url).username === ''

/**
 * Whether all clients of `serve` may use one login: those of this machine's user may, others only where the
 * operator says so, or has given credentials of the relay's own.
 */
export const mayLogIn = ({ login }: RemoteServer, listen: Configuration['listen']): boolean =>
  login?.shared === true || login?.grant === 'client' || isOwnMachine(listen)

/** Nobody else can connect. */
export const isOwnMachine = (listen: Configuration['listen']): boolean =>
  'socket' in listen ? (listen.mode & 0o007) === 0 : loopback.has(listen.host)

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

export const settingsOf = ({ login }: RemoteServer): LoginSettings => {
  if (login === undefined) return usual
  const { privateKey } = login
  return privateKey === undefined || privateKey.includes('-----BEGIN')
    ? login : { ...login, privateKey: readKey(privateKey) }
}

const readKey = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw cannotRead('BAD_CONFIG', file, cause)
  }
}
