import { CustomsError } from '../../errors.js'
import { isObject, type JsonObject } from '../../protocol/unmetered.js'
import { about, type Flag, type Flags, type Given, type Rest, seconds, text } from '../flag.js'
import { sharedFlags, type Target } from '../flags.js'

export const timeout: Flag = { type: 'string', value: 'SECONDS', describe: 'seconds to wait for each answer (default: 30)' }

/** How a file is named, that is no URL, in which the answers of a server were saved. */
export const saved = /^(?![a-z][a-z\d+.-]*:\/\/).*\.(?:json|jsonl|ndjson)$/is

export const inspectFlags: Flags = {
  ...sharedFlags,
  ...about('Log', {
    audit: { type: 'string', value: 'FILE|-|none', describe: 'audit log of the inspection: a file, - for stderr, or none (default)' },
  }),
  ...about('Report', {
    diff: { type: 'boolean', describe: 'say what changed between two saved lists; exit code 1 when anything did' },
    json: { type: 'boolean', describe: 'report as JSON' },
    sarif: { type: 'boolean', describe: 'report as SARIF 2.1.0, for code scanning' },
  }),
  ...about('Requests', {
    call: { type: 'string', value: 'TOOL', describe: 'call this tool, and judge the result' },
    args: { type: 'string', value: 'JSON', describe: 'the arguments of the call: a JSON object (default: {})' },
    timeout,
  }),
}

export interface InspectFlags {
  readonly diff: boolean
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
  const diff = given.get('diff') === true
  const others = [...given.keys()].filter(name => name !== 'diff' && name !== 'json' && name !== 'log-level')
  if (diff && others.length > 0) fail(`--diff compares two files, and knows no --${others.join(', --')}`)
  return {
    diff,
    call: tool === undefined ? undefined : { tool, arguments: argumentsOf(args ?? '{}') },
    format: json ? 'json' : sarif ? 'sarif' : 'text',
    timeoutMs: milliseconds(text(given, 'timeout') ?? '30'),
  }
}

/** @throws CustomsError BAD_USAGE */
export const readInspectTarget = ({ words, command }: Rest): Target => {
  const [word] = words
  if (words.length > 1) fail('inspect takes one server, and two files after --diff')
  return word !== undefined && saved.test(word) ? { command, url: undefined, file: word } : { command, url: word }
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

/** @throws CustomsError BAD_USAGE */
export const milliseconds = (text: string): number => {
  const number = seconds('timeout', text)
  return number > 0 && number <= longestTimeout ? number * 1000 : fail(`--timeout ${JSON.stringify(text)}: must be a number of seconds above 0`)
}

const fail = (reason: string): never => {
  throw new CustomsError('BAD_USAGE', reason)
}
