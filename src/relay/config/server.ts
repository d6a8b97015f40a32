import type { ClientPatterns, ToolSetting } from '#relay/core/options.js'
import type { Environment } from '#relay/base/platform/machine.js'
import { isRecord, type DataObject } from '#relay/protocol/unmetered.js'
import { readServerUrl } from './address.js'
import { checked } from './check.js'
import type { Limits, LockSetting, ServerConfiguration, ServerLogin, ServerTls } from './configuration.js'
import { readData } from './file.js'
import { isHeaders, isVariables } from './generated/checks.js'
import type * as Written from './generated/types.js'
import { readBasePolicy, readRules } from './policy-file.js'
import { expandVariables, fail, namedAt, pathFrom, type Keys, type ConfigurationSource } from './source.js'

/** @param keys where it stands @param limits for its tools' schemas */
export const readServer = async (
  name: string, keys: Keys, written: Written.Server, source: ConfigurationSource, limits: Limits,
): Promise<ServerConfiguration> => {
  const { command, env = {}, inheritEnv, cwd, url = '', headers = {}, passHeaders, upstream } = written
  const common = {
    name,
    policy: await readBasePolicy(written.policy, [...keys, 'policy'], source),
    rules: readRules(written.rules, [...keys, 'rules']),
    ...(written.profile !== undefined && { profiles: readProfiles(written.profile) }),
    lock: readLockSetting(written.lock, source),
    ...(written.workers !== undefined && { workers: written.workers }),
    ...(written.scopes && { scopes: written.scopes }),
    ...((written.allow ?? written.deny ?? written.clients) && {
      names: {
        allow: written.allow, deny: written.deny,
        ...(written.clients && { clients: [readClients(written.clients)] }),
      },
    }),
    ...(written.minRevision && { minRevision: written.minRevision }),
    ...(written.translate && { translate: written.translate }),
    tools: await readTools(written.tools, [...keys, 'tools'], source, limits),
  }
  if (command === undefined) {
    const always = readHeaders(headers, [...keys, 'headers'])
    if (upstream === 'static' && always.size === 0) fail([...keys, 'upstream'], 'static needs headers')
    if (upstream !== undefined && upstream !== 'static' && always.has('authorization')) {
      fail([...keys, 'upstream'], `${upstream} contradicts the Authorization of headers: that is static`)
    }
    return {
      ...common,
      tls: readServerTls(written, keys, source),
      url: readServerUrl(url, [...keys, 'url']),
      headers: always,
      ...(passHeaders && { passHeaders }),
      ...(written.auth && { login: readLogin(written.auth, keys, source) }),
      ...(upstream && { upstream }),
    }
  }
  return {
    ...common,
    command,
    env: new Map(Object.entries(env)),
    inheritEnv: inheritEnv === false ? [] : inheritEnv,
    cwd: cwd === undefined ? undefined : pathFrom(source, cwd),
  }
}

const readLogin = (
  {
    grant, issuer: written, clientId, clientSecret, privateKey, clientMetadataUrl, loginMs = 300_000,
    shared = false, ...rest
  }: Written.Login, keys: Keys, source: ConfigurationSource,
): ServerLogin => {
  const isOwn = grant === undefined
    ? (clientSecret ?? privateKey) !== undefined : grant === 'client_credentials'
  if (isOwn && clientId === undefined) return fail([...keys, 'auth', 'grant'], 'needs a clientId')
  const issuer = written === undefined ? undefined : readServerUrl(written, [...keys, 'auth', 'issuer'])
  const id = clientId ?? clientMetadataUrl
  return {
    ...rest, grant: isOwn ? 'client' : 'user', loginMs, shared, issuer,
    // The schema wants an issuer beside each of them.
    client: id === undefined || issuer === undefined ? undefined : {
      issuer, id, isDocument: clientId === undefined, secret: clientSecret,
      privateKey: privateKey === undefined || privateKey.includes('-----BEGIN')
        ? privateKey : pathFrom(source, privateKey),
    },
  }
}

export const readProfiles = (written: Written.Profile | undefined): readonly string[] | undefined =>
  (typeof written === 'string' ? [written] : written)

export const readLockSetting = (
  written: Written.Lock | undefined, source: ConfigurationSource,
): LockSetting | undefined => {
  if (written === undefined) return undefined
  const { file, frozen = false, trustAccepted = false, ...actions } =
    typeof written === 'string' ? { file: written } : written
  return { file: pathFrom(source, file), isFrozen: frozen, trustAccepted, actions }
}

/** Headers of the connection or the body: the relay's HTTP client writes these. */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'keep-alive',
  'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade',
])

/** @returns the names in lower case */
export const readHeaders = (headers: Written.Headers, keys: Keys): ReadonlyMap<string, string> => {
  const read = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const spelling = name.toLowerCase()
    if (ownHeaders.has(spelling)) return fail([...keys, name], 'is written by the relay itself')
    if (read.has(spelling)) return fail([...keys, name], 'this header stands here twice')
    read.set(spelling, value)
  }
  return read
}

/**
 * The values of `--header NAME=VALUE`, or `Name: value` as curl has it; the last one of a name wins.
 * @throws Problem at the name
 */
export const parseHeaders = (
  pairs: readonly string[], environment: Environment,
): ReadonlyMap<string, string> => {
  const written = Object.fromEntries(pairs.map(pair => split(asPair(pair), /^[^\s:]+$/)))
  return readHeaders(checked(isHeaders, expandVariables(written, environment), written), [])
}

/** A name has no colon and no equals sign (RFC 9110, section 5.1): the first of them ends it. */
const asPair = (header: string): string => header.replace(/^([^\s:=]+):[ \t]*/, '$1=')

/** The values of `--env NAME=VALUE`; the last one of a name wins. @throws Problem at the name */
export const parseVariables = (
  pairs: readonly string[], environment: Environment,
): ReadonlyMap<string, string> => {
  const written = Object.fromEntries(pairs.map(pair => split(pair, /^[^\0]+$/)))
  return new Map(Object.entries(checked(isVariables, expandVariables(written, environment), written)))
}

/**
 * `{env:NAME}` means the same as `${env:NAME}`, which several clients replace from their own environment.
 * An invalid pair is not quoted: `Authorization: Bearer abc=` is a secret.
 */
const split = (pair: string, name: RegExp): [string, string] => {
  const at = pair.indexOf('=')
  const before = pair.slice(0, Math.max(at, 0))
  if (!name.test(before)) return fail([], 'must be NAME=VALUE')
  return [before, pair.slice(at + 1).replace(/(?<!\$)\{env:/g, '${env:')]
}

const readServerTls = (
  { ca, tls }: Written.Server, keys: Keys, source: ConfigurationSource,
): ServerTls | undefined => {
  if (ca !== undefined && tls?.ca !== undefined) {
    return fail([...keys, 'ca'], 'stands in tls as well: give one of them')
  }
  const authorities = ca ?? tls?.ca
  if (authorities === undefined && tls === undefined) return undefined
  const path = (file: string) => pathFrom(source, file)
  return {
    ca: authorities === undefined ? undefined : path(authorities),
    client: tls?.cert !== undefined && tls.key !== undefined
      ? { cert: path(tls.cert), key: path(tls.key) }
      : undefined,
  }
}

const readTools = async (
  tools: Readonly<Record<string, Written.Tool>> = {}, keys: Keys, source: ConfigurationSource, limits: Limits,
) => {
  const read = new Map<string, ToolSetting>()
  for (const [name, tool] of Object.entries(tools)) {
    if (name !== '*' && name.includes('*')) {
      // A name must be exact: a pattern would match no tool.
      return fail([...keys, name], 'is a pattern: patterns stand in allow and deny')
    }
    read.set(name, await readTool(tool, [...keys, name], source, limits))
  }
  return read
}

/** The clients that have patterns of their own. */
export const readClients = (written: Written.ClientRules): readonly ClientPatterns[] =>
  written.map(({ match: { name, token, subject }, allow, deny }) => ({
    match: {
      name, token,
      subject: typeof subject === 'string'
        ? { subject }
        : subject && { issuer: subject.iss, subject: subject.sub },
    },
    allow,
    deny,
  }))

const readTool = async (
  tool: Written.Tool, keys: Keys, source: ConfigurationSource, limits: Limits,
): Promise<ToolSetting> => {
  if (tool === 'deny') return { denied: true, outputSchema: undefined, annotations: undefined }
  const { deny = false, relaxed, scopes, title, description, inputSchema } = tool
  const { timeoutMs, callsPerMinute, resultBytes } = tool
  const { outputSchema, resultSchema, structured, annotations } = tool
  if (structured !== undefined && outputSchema === undefined) {
    return fail([...keys, 'structured'], 'goes only with outputSchema')
  }
  const schemaAt = (key: string, written: unknown) => readSchema(written, [...keys, key], source, limits)
  return {
    denied: deny,
    ...(relaxed !== undefined && { relaxed }),
    ...(scopes && { scopes }),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(inputSchema && { inputSchema: inputSchema as ToolSetting['inputSchema'] }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(callsPerMinute !== undefined && { callsPerMinute }),
    ...(resultBytes !== undefined && { resultBytes }),
    outputSchema: outputSchema === undefined ? undefined : await schemaAt('outputSchema', outputSchema),
    ...(resultSchema !== undefined && { resultSchema: await schemaAt('resultSchema', resultSchema) }),
    ...(structured !== undefined && { structured }),
    annotations,
  }
}

/** Inline, or the path of a file. */
const readSchema = async (
  written: unknown, keys: Keys, source: ConfigurationSource, limits: Limits,
): Promise<DataObject | boolean> => {
  const file = typeof written === 'string' ? pathFrom(source, written) : undefined
  const schema: unknown = file === undefined ? written : (await namedAt(keys, readData(file))).data
  const named = file === undefined ? '' : `${file} `
  if (typeof schema !== 'boolean' && !isRecord(schema)) return fail(keys, `${named}holds no JSON Schema`)
  const fault = await source.judgeSchema(schema, limits)
  return fault === undefined ? schema : fail(keys, `${named}is no valid JSON Schema: ${fault}`)
}
