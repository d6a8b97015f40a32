import type { ToolSetting } from '../core/options.js'
import { isObject, type JsonObject } from '../protocol/unmetered.js'
import type { ServerConfiguration, ServerTls } from './configuration.js'
import { readData } from './file.js'
import type * as Written from './generated/types.js'
import type { Limits } from './limits.js'
import { readLockSetting } from './lock.js'
import { readBasePolicy } from './policy-file.js'
import { fail, type Keys } from './problem.js'
import { readRules } from './rules.js'
import { namedAt, pathFrom, type Source } from './source.js'
import { readServerUrl } from './url.js'

/** @param limits of the schemas that it names */
export const readServer = async (name: string, written: Written.Server, source: Source, limits: Limits): Promise<ServerConfiguration> => {
  const keys = ['servers', name]
  const { command, env = {}, inheritEnv, cwd, url = '', headers = {}, passHeaders } = written
  const common = {
    name,
    policy: await readBasePolicy(written.policy, [...keys, 'policy'], source),
    rules: readRules(written.rules, [...keys, 'rules']),
    lock: readLockSetting(written.lock, source),
    ...(written.workers !== undefined && { workers: written.workers }),
    tools: await readTools(written.tools, [...keys, 'tools'], source, limits),
  }
  if (command === undefined) {
    const tls = readServerTls(written, keys, source)
    return { ...common, url: readServerUrl(url, [...keys, 'url']), headers: readHeaders(headers, [...keys, 'headers']), ...(passHeaders && { passHeaders }), tls }
  }
  return {
    ...common,
    command,
    env: new Map(Object.entries(env)),
    inheritEnv: inheritEnv === false ? [] : inheritEnv,
    cwd: cwd === undefined ? undefined : pathFrom(source, cwd),
  }
}

/** What belongs to a connection or to the body is written by whoever sends it. */
const written = /^(?:connection|content-encoding|content-length|content-type|expect|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/

/** @returns the names in lower case */
export const readHeaders = (headers: Written.Headers, keys: Keys): ReadonlyMap<string, string> => {
  const read = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const spelling = name.toLowerCase()
    if (written.test(spelling)) return fail([...keys, name], 'is written by the relay itself')
    if (read.has(spelling)) return fail([...keys, name], 'this header stands here twice')
    read.set(spelling, value)
  }
  return read
}

const readServerTls = ({ ca, tls }: Written.Server, keys: Keys, source: Source): ServerTls | undefined => {
  if (ca !== undefined && tls?.ca !== undefined) return fail([...keys, 'ca'], 'stands in tls as well: give one of them')
  const authorities = ca ?? tls?.ca
  if (authorities === undefined && tls === undefined) return undefined
  const path = (file: string) => pathFrom(source, file)
  return {
    ca: authorities === undefined ? undefined : path(authorities),
    client: tls?.cert !== undefined && tls.key !== undefined ? { cert: path(tls.cert), key: path(tls.key) } : undefined,
  }
}

const readTools = async (tools: Readonly<Record<string, Written.Tool>> = {}, keys: Keys, source: Source, limits: Limits) => {
  const read = new Map<string, ToolSetting>()
  for (const [name, tool] of Object.entries(tools)) read.set(name, await readTool(tool, [...keys, name], source, limits))
  return read
}

const readTool = async (tool: Written.Tool, keys: Keys, source: Source, limits: Limits): Promise<ToolSetting> => {
  if (tool === 'deny') return { denied: true, outputSchema: undefined, annotations: undefined }
  const { deny = false, outputSchema, resultSchema, structured, annotations } = tool
  if (structured !== undefined && outputSchema === undefined) return fail([...keys, 'structured'], 'goes only with outputSchema')
  return {
    denied: deny,
    outputSchema: outputSchema === undefined ? undefined : await readSchema(outputSchema, [...keys, 'outputSchema'], source, limits),
    ...(resultSchema !== undefined && { resultSchema: await readSchema(resultSchema, [...keys, 'resultSchema'], source, limits) }),
    ...(structured !== undefined && { structured }),
    annotations,
  }
}

/** Inline, or the path of a file. */
const readSchema = async (written: unknown, keys: Keys, source: Source, limits: Limits): Promise<JsonObject | boolean> => {
  const file = typeof written === 'string' ? pathFrom(source, written) : undefined
  const schema: unknown = file === undefined ? written : (await namedAt(keys, readData(file))).data
  const named = file === undefined ? '' : `${file} `
  if (typeof schema !== 'boolean' && !isObject(schema)) return fail(keys, `${named}holds no JSON Schema`)
  const fault = await source.judgeSchema(schema, limits)
  return fault === undefined ? schema : fail(keys, `${named}is no valid JSON Schema: ${fault}`)
}
