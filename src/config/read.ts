import { parseAddress, type Address } from './address.js'
import { defaultAudit, payloadKinds, periods, type AuditConfiguration, type Configuration, type ServerConfiguration } from './configuration.js'
import { readData } from './file.js'
import { defaultLimits, defaultSessionLimits, limitBounds, readBounded, sessionBounds } from './limits.js'
import { policyOf, readRules } from './policy.js'
import { readCertificate, readServer } from './server.js'
import { Setting, type Environment } from './setting.js'
import { readTrust } from './trust-list.js'

// `$schema` is for editors.
export const configurationKeys = [
  '$schema', 'version', 'listen', 'policy', 'rules', 'limits', 'trust', 'servers', 'auth', 'audit',
  'tls', 'allowHosts', 'allowOrigins', 'admin', 'sessions',
] as const
export const auditKeys = ['file', 'payloads', 'intent', 'maxBytes', 'rotate', 'keep', 'signKey'] as const
export const auditBounds = { maxBytes: { least: 4096, most: 2 ** 40 }, keep: { least: 0, most: 1_000_000 } } as const
export const authKeys = ['tokens'] as const
export const tlsKeys = ['cert', 'key'] as const

/**
 * Reads a configuration file (YAML, or JSON when it is named `.json`), and the files that it names.
 * @param environment what `${env:NAME}` refers to
 * @throws CustomsError BAD_CONFIG: one line, `FILE: KEY.PATH: reason`; no value of the environment is in it
 */
export const readConfiguration = async (
  file: string,
  environment: Environment = process.env,
): Promise<Configuration> => {
  const root = new Setting({ file, environment }, await readData(file))
  const at = root.known(configurationKeys)
  at('$schema')?.text()
  at('version')?.integer({ least: 1, most: 1 })
  const policy = at('policy')
  const tls = at('tls')
  return freeze({
    file,
    listen: readAddress(at('listen')),
    policy: policy && (await policyOf(policy)),
    rules: readRules(at('rules')),
    limits: readBounded(at('limits'), limitBounds, defaultLimits),
    trust: readTrust(at('trust')),
    servers: await readServers(at('servers')),
    tokens: readTokens(at('auth')),
    audit: readAudit(at('audit')),
    tls: tls && readCertificate(tls, tls.known(tlsKeys)),
    allowHosts: readHosts(at('allowHosts')),
    allowOrigins: readOrigins(at('allowOrigins')),
    admin: readAddress(at('admin')),
    sessions: readBounded(at('sessions'), sessionBounds, defaultSessionLimits),
  })
}

const readAddress = (setting: Setting | undefined): Address | undefined =>
  setting && (parseAddress(setting.text()) ?? setting.fail('must be HOST:PORT, such as 127.0.0.1:7400 or [::1]:0'))

const readServers = async (setting: Setting | undefined): Promise<ReadonlyMap<string, ServerConfiguration>> => {
  const servers = new Map<string, ServerConfiguration>()
  for (const [name, server] of setting?.members() ?? []) servers.set(name, await readServer(name, server))
  return servers
}

const readTokens = (setting: Setting | undefined): readonly string[] | undefined => {
  if (!setting) return undefined
  const tokens = setting.known(authKeys)('tokens') ?? setting.fail('must have tokens')
  // An empty list would read as a locked door and be an open one.
  if (tokens.elements().length === 0) return tokens.fail('must hold a token; leave auth out for an open door')
  return tokens.elements().map(token => token.textLike(/^[\x21-\x7e]+$/, 'a token: visible ASCII characters, and not empty'))
}

const readAudit = (setting: Setting | undefined): AuditConfiguration => {
  const at = setting?.known(auditKeys)
  const file = at?.('file')
  const word = file?.text()
  return {
    file: word === '-' || word === 'none' ? word : file?.path(),
    payloads: at?.('payloads')?.choice(payloadKinds, 'kind of payloads') ?? defaultAudit.payloads,
    intent: at?.('intent')?.boolean() ?? defaultAudit.intent,
    maxBytes: at?.('maxBytes')?.integer(auditBounds.maxBytes),
    rotate: at?.('rotate')?.choice(periods, 'period') ?? defaultAudit.rotate,
    keep: at?.('keep')?.integer(auditBounds.keep),
    signKey: at?.('signKey')?.path(),
  }
}

const readHosts = (setting: Setting | undefined): readonly string[] =>
  setting?.elements().map(host =>
    host.textLike(/^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/, 'a host, such as mcp.example.com').toLowerCase(),
  ) ?? []

const readOrigins = (setting: Setting | undefined): readonly string[] =>
  setting?.elements().map(origin => {
    const text = origin.textLike(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@\s]+$/, 'an origin, such as https://app.example.com')
    if (!URL.canParse(text)) return origin.fail('must be an origin, such as https://app.example.com')
    // A scheme that the browser does not know has no origin for `URL`: a desktop application's, perhaps.
    const { origin: spelling } = new URL(text)
    return spelling === 'null' ? text : spelling
  }) ?? []

/** The maps are read-only by their type. */
const freeze = <Value>(value: Value): Value => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const held of value instanceof Map ? value.values() : Object.values(value)) freeze(held)
  return value
}
