import { CustomsError } from '../errors.js'
import { isObject, type JsonObject } from '../protocol/json.js'
import { about, text, type Flags, type Given } from './flag.js'
import { sharedFlags } from './flags.js'
import { seconds } from './settings.js'

export const inspectFlags: Flags = {
  ...sharedFlags,
  ...about('Log', {
    audit: { type: 'string', value: 'FILE|-|none', describe: 'audit log of the inspection: a file, - for stderr, or none (default)' },
  }),
  ...about('Report', {
    json: { type: 'boolean', describe: 'report as JSON' },
    sarif: { type: 'boolean', describe: 'report as SARIF 2.1.0, for code scanning' },
  }),
  ...about('Requests', {
    call: { type: 'string', value: 'TOOL', describe: 'call this tool, and judge the result' },
    args: { type: 'string', value: 'JSON', describe: 'the arguments of the call: a JSON object (default: {})' },
    timeout: { type: 'string', value: 'SECONDS', describe: 'seconds to wait for each answer (default: 30)' },
  }),
}

export interface InspectFlags {
  readonly call: { readonly tool: string; readonly arguments: JsonObject } | undefined
  readonly format: 'text' | 'json' | 'sarif'
  readonly timeoutMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readInspectFlags = (given: Given): InspectFlags => {
  const tool = text(given, 'call')
  const args = text(given, 'args')
  if (args !== undefined && tool === undefined) fail('--args needs --call TOOL')
  const json = given.get('json') === true
  const sarif = given.get('sarif') === true
  if (json && sarif) fail('give either --json or --sarif, not both')
  return {
    call: tool === undefined ? undefined : { tool, arguments: argumentsOf(args ?? '{}') },
    format: json ? 'json' : sarif ? 'sarif' : 'text',
    timeoutMs: milliseconds(text(given, 'timeout') ?? '30'),
  }
}

const argumentsOf = (json: string): JsonObject => {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    return fail(`--args is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  return isObject(value) ? value : fail('--args must be a JSON object, such as {"city":"Paris"}')
}

const longestTimeout = 24 * 60 * 60

const milliseconds = (text: string): number => {
  const number = seconds('timeout', text)
  return number > 0 && number <= longestTimeout ? number * 1000 : fail(`--timeout ${JSON.stringify(text)}: must be a number of seconds above 0`)
}

const fail = (reason: string): never => {
  throw new CustomsError('BAD_USAGE', reason)
}
