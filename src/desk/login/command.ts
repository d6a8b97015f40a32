import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stateFolder, thisMachine } from '#relay/base/platform/machine.js'
import { IssuerClient } from '#relay/auth/client/requests.js'
import type { Holder, Purpose } from '#relay/auth/client/settings.js'
import { LoginFolder, type Stored } from '#relay/auth/client/store.js'
import { UserLogin } from '#relay/auth/client/user-login.js'
import { clientLogin, deviceLogin } from '#relay/auth/client/without-browser.js'
import type { Configuration, RemoteServer } from '#relay/config/configuration.js'
import { badUsage, cannotRead, CustomsError, visible } from '#relay/base/errors.js'
import { styleFor } from '#desk/terminal/style.js'
import { openBrowser } from '#relay/transport/process/browser.js'
import { challengeOf } from '#relay/transport/upstream/authorized.js'
import { fetchFor } from '#relay/transport/upstream/document.js'
import { failureOf, HttpFailure } from '#relay/transport/upstream/pool.js'
import type { RelaySettings } from '#relay/host/settings.js'
import type { Target } from '#relay/config/target.js'
import { print, table } from '#desk/terminal/output.js'
import { settingsOf } from '#relay/host/server/login.js'
import { setUp } from '#relay/host/server/setup.js'
import { tlsOf } from '#relay/host/server/upstream.js'
import { shownUrl, targetOf } from '#relay/config/target.js'
import type { LoginFlags, LogoutFlags } from '#cli/flags/login.js'

const folder = (): LoginFolder => new LoginFolder(stateFolder(thisMachine()))

/** @throws CustomsError for a file that cannot be read */
const logins = (): ReturnType<LoginFolder['all']> => {
  try {
    return folder().all()
  } catch (cause) {
    throw cannotRead('BAD_CONFIG', join(stateFolder(thisMachine()), 'logins'), cause)
  }
}

/** Issuers and codes are texts that a server chooses. */
const tell = (...lines: readonly string[]): void =>
  void process.stderr.write(lines.map(line => `${visible(line)}\n`).join(''))

/** `login`: gets tokens for a server before a relay needs them. */
export const login = async (shared: RelaySettings, flags: LoginFlags, target: Target): Promise<number> => {
  if (flags.status) return status(flags.json)
  const { servers: [setup], configuration } = await setUp(shared, target, 'inspect')
  const server = setup?.server
  if (server === undefined || !('url' in server)) return badUsage('login is for a server with a URL')
  try {
    const stored = await loggedIn(server, flags, holderIn(configuration, flags))
    if (stored === undefined) tell(`${targetOf(server)} does not ask for a login`)
    else {
      const { server: { issuer }, requested, tokens } = stored
      const scopes = (tokens?.scopes ?? requested).join(' ')
      tell(`Logged in at ${issuer}${scopes === '' ? '' : `, with the scopes ${scopes}`}`)
    }
    return 0
  } catch (error) {
    if (error instanceof CustomsError) throw error
    throw new CustomsError('CANNOT_REACH', `${targetOf(server)}: ${failureOf(error)}`, { cause: error })
  }
}

/** The client of `serve` that the flags name. @throws CustomsError BAD_USAGE where the file knows none */
const holderIn = (
  { issuer, tokens }: Configuration, { subject, tokenName }: LoginFlags,
): Holder | undefined => {
  if (tokenName !== undefined) {
    return tokens.some(({ name }) => name === tokenName)
      ? { issuer: '', name: tokenName } : badUsage(`auth.tokens of the file has no token named ${tokenName}`)
  }
  if (subject === undefined) return undefined
  if (subject === '') badUsage('--subject is empty')
  return issuer === undefined
    ? badUsage('--subject needs --config FILE with auth.issuer') : { issuer: issuer.issuer, name: subject }
}

/** @returns undefined when the server asks for no login */
const loggedIn = async (
  server: RemoteServer, { noBrowser, device }: LoginFlags, holder: Holder | undefined,
): Promise<Stored | undefined> => {
  const [url, tls, settings] = [new URL(server.url), tlsOf(server), settingsOf(server)]
  const file = folder().file(url.href, settings, holder)
  const { wanted } = await challengeOf(url, tls, server.headers)
  const purpose: Purpose = { wanted, refused: undefined, scopes: [] }
  const options = { url, settings, file, fetch: fetchFor(url, tls), now: Date.now }
  if (settings.grant === 'client') {
    const stored = await clientLogin(options, purpose)
    return stored && file.change(() => stored)
  }
  if (device) {
    return deviceLogin(options, purpose, (start, code) => tell(`Open ${start}`, `and enter the code ${code}`))
  }
  const show = (start: string, _: boolean, issuers: string): void => {
    const opened = !noBrowser && openBrowser(start)
    if (opened) return tell('A browser was opened. If none appears, open', start)
    tell('Open in a browser:', issuers,
      'If it runs on another machine, it ends at a page that it cannot load: ' +
      'paste the URL of that page here.')
  }
  const user = new UserLogin({ ...options, show, alone: false })
  const pasted = createInterface({ input: process.stdin }).on('line', line => {
    if (line.trim() !== '' && !user.take(line.trim())) tell('This URL is not the answer to this login.')
  })
  const late = setTimeout(() => void user.close(), settings.loginMs)
  try {
    return await user.run(purpose)
  } finally {
    clearTimeout(late)
    pasted.close()
  }
}

/** `login --status` */
const status = async (json: boolean): Promise<number> => {
  const rows = logins().flatMap(([, { url, server: { issuer }, requested, tokens, holder }]) => {
    if (tokens === undefined) return []
    const { scopes = requested, expiresAt, refresh } = tokens
    const expires = expiresAt === undefined ? null : new Date(expiresAt).toISOString()
    return [{
      server: shownUrl(url), issuer, scopes, expiresAt: expires, renewable: refresh !== undefined,
      ...(holder && {
        holder: holder.issuer === '' ? { token: holder.name } : { iss: holder.issuer, sub: holder.name },
      }),
    }]
  })
  if (json) {
    await print(`${JSON.stringify(rows, undefined, 2)}\n`)
    return 0
  }
  if (rows.length === 0) {
    tell('There is no login: mcp-customs login URL begins one.')
    return 0
  }
  const cells = rows.map(({ server, issuer, scopes, expiresAt, renewable, holder }) => [
    server, holder === undefined ? 'you' : visible(Object.values(holder).join(' ')), visible(issuer),
    scopes.join(' '), renewable ? 'renewed by itself' : expiresAt ?? 'not said',
  ])
  const style = styleFor(process.stdout, process.env)
  await print(`${table(['Server', 'For', 'Issuer', 'Scopes', 'Expires'], cells, style)}\n`)
  return 0
}

/** `logout`: revokes the tokens where the issuer can, and forgets them. */
export const logout = async ({ url: wanted, allSubjects }: LogoutFlags): Promise<number> => {
  if (wanted !== undefined && !URL.canParse(wanted)) return badUsage('the URL of the server is no URL')
  const url = wanted === undefined ? undefined : new URL(wanted).href
  const known = logins().filter(([, stored]) => url === undefined || stored.url === url)
  const found = known.filter(([, { holder }]) => allSubjects || holder === undefined)
  if (found.length === 0) tell('There is no such login.')
  const others = known.length - found.length
  if (others > 0) tell(`Kept: ${others} of clients of serve, which --all-subjects ends as well.`)
  for (const [file, stored] of found) {
    await file.claimed(async () => {
      const failure = await revoked(file.read() ?? stored)
      file.remove()
      tell(`Logged out of ${shownUrl(stored.url)}${failure === undefined ? '' : ` (${failure})`}`)
    })
  }
  return 0
}

/** @returns why the issuer still knows the tokens */
const revoked = async ({ url, server, client, tokens }: Stored): Promise<string | undefined> => {
  const token = tokens?.refresh ?? tokens?.access
  if (token === undefined) return undefined
  try {
    const issuer = new IssuerClient({ server, client, fetch: fetchFor(new URL(url)) })
    const isRevoked = await issuer.revoke(token)
    return isRevoked ? undefined : 'its issuer cannot revoke tokens: they expire by themselves'
  } catch (error) {
    const reason = error instanceof HttpFailure ? error.message : failureOf(error)
    return `the issuer did not revoke the token: ${reason}`
  }
}
