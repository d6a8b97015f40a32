import type { ToolSetting } from '../core/options.js'
import type { Json, JsonObject } from '../protocol/json.js'
import type { Certificate, ServerConfiguration, ServerTls } from './configuration.js'
import { readData } from './file.js'
import { policyOf, readRules } from './policy.js'
import { isObject, type Setting } from './setting.js'
import { readCommand } from './trust-list.js'

export const serverKeys = ['command', 'env', 'cwd', 'url', 'headers', 'tls', 'policy', 'rules', 'tools'] as const
export const serverTlsKeys = ['ca', 'cert', 'key'] as const
export const toolKeys = ['outputSchema', 'annotations', 'deny'] as const
const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const
export const annotationKeys = ['title', ...hints] as const

/** @param name stands in URLs, in the names of files and in the audit log */
export const readServer = async (name: string, setting: Setting): Promise<ServerConfiguration> => {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    return setting.fail('a server is named with up to 64 letters, digits, dots, dashes or underscores')
  }
  const at = setting.known(serverKeys)
  const [command, url, policy] = [at('command'), at('url'), at('policy')]
  if ((command === undefined) === (url === undefined)) return setting.fail('must have either command or url')
  for (const key of command ? (['headers', 'tls'] as const) : (['env', 'cwd'] as const)) {
    at(key)?.fail(command ? 'belongs to a url, not to a command' : 'belongs to a command, not to a url')
  }
  const common = {
    name,
    policy: policy && (await policyOf(policy)),
    rules: readRules(at('rules')),
    tools: await readTools(at('tools')),
  }
  return url
    ? { ...common, url: readUrl(url), headers: readHeaders(at('headers')), tls: readServerTls(at('tls')) }
    : { ...common, command: readCommand(command ?? setting), env: readVariables(at('env')), cwd: at('cwd')?.path() }
}

const readUrl = (setting: Setting): string => {
  const text = setting.text()
  if (!URL.canParse(text)) return setting.fail('must be a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return setting.fail('must be an https or http URL')
  if (url.username !== '' || url.password !== '') return setting.fail('must not hold a user or password: use headers')
  return url.hash === '' ? text : setting.fail('must not have a fragment')
}

export const readHeaders = (setting: Setting | undefined): ReadonlyMap<string, string> => {
  const headers = new Map<string, string>()
  for (const [name, value] of setting?.members() ?? []) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return value.fail('no name for a header')
    const spelling = name.toLowerCase()
    if (headers.has(spelling)) return value.fail('this header stands here twice')
    headers.set(spelling, value.textLike(/^[\t\x20-\x7e\x80-\xff]*$/, 'text on one line, without control characters'))
  }
  return headers
}

const readVariables = (setting: Setting | undefined): ReadonlyMap<string, string> =>
  new Map(setting?.members().map(([name, value]) => {
    if (!/^[^=\0]+$/.test(name)) return value.fail('no name for an environment variable')
    return [name, value.textLike(/^[^\0]*$/, 'text without NUL')]
  }))

export const readCertificate = (setting: Setting, at: (key: 'cert' | 'key') => Setting | undefined): Certificate => {
  const [cert, key] = [at('cert'), at('key')]
  return cert && key ? { cert: cert.path(), key: key.path() } : setting.fail('must have both cert and key')
}

const readServerTls = (setting: Setting | undefined): ServerTls | undefined => {
  if (!setting) return undefined
  const at = setting.known(serverTlsKeys)
  return { ca: at('ca')?.path(), client: at('cert') || at('key') ? readCertificate(setting, at) : undefined }
}

const readTools = async (setting: Setting | undefined): Promise<ReadonlyMap<string, ToolSetting>> => {
  const tools = new Map<string, ToolSetting>()
  for (const [name, tool] of setting?.members() ?? []) tools.set(name, await readTool(tool))
  return tools
}

const readTool = async (setting: Setting): Promise<ToolSetting> => {
  if (typeof setting.value === 'string') {
    setting.choice(['deny'], 'setting of a tool')
    return { denied: true, outputSchema: undefined, annotations: undefined }
  }
  const at = setting.known(toolKeys)
  const schema = at('outputSchema')
  return {
    denied: at('deny')?.boolean() ?? false,
    outputSchema: schema && (await readSchema(schema)),
    annotations: readAnnotations(at('annotations')),
  }
}

/** Inline, or the path of a file. Nothing is replaced within it: `${env:` may well stand in a pattern. */
const readSchema = async (setting: Setting): Promise<JsonObject | boolean> => {
  const schema: Json | undefined = typeof setting.value === 'string' ? await readData(setting.path()) : setting.value
  return typeof schema === 'boolean' || isObject(schema) ? schema : setting.fail('must be a JSON Schema or the path of one')
}

const readAnnotations = (setting: Setting | undefined): JsonObject | undefined => {
  if (!setting) return undefined
  const at = setting.known(annotationKeys)
  const title = at('title')?.text()
  const given = hints.flatMap(hint => {
    const value = at(hint)?.boolean()
    return value === undefined ? [] : [[hint, value] as const]
  })
  return { ...(title !== undefined && { title }), ...Object.fromEntries(given) }
}
