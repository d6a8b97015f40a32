import { clients } from '#desk/install/clients/known.js'
import { badUsage, messageOf } from '#relay/base/errors.js'
import { isRecord, type DataObject } from '#relay/protocol/unmetered.js'
import { about, seconds, valuesOf, type Given, type Rest, type Values } from '../flag.js'
import { sharedFlags, translateFlag } from './relay.js'
import type { Target } from '#relay/config/target.js'

export const timeoutFlags = {
  timeout: { type: 'string', value: 'SECONDS', default: '30', describe: 'seconds to wait for each answer' },
} as const

/** Matches the name of a file of saved answers; not a URL. */
export const saved = /^(?![a-z][a-z\d+.-]*:\/\/).*\.(?:json|jsonl|ndjson)$/is

const clientNames = clients.flatMap(({ name, profile }) => (profile === undefined ? [] : [name]))

const ownFlags = {
  ...about('Log', {
    audit: {
      type: 'string', value: 'FILE|-|none',
      describe: 'audit log of the inspection: a file, - for stderr, or none (default)',
    },
  }),
  ...about('Report', {
    diff: {
      type: 'boolean', describe: 'say what changed between two saved lists; exit code 1 when anything did',
    },
    json: { type: 'boolean', describe: 'report as JSON' },
    sarif: { type: 'boolean', describe: 'report as SARIF 2.1.0, for code scanning' },
    client: {
      type: 'string', value: 'NAME', multiple: true, choices: clientNames,
      describe: 'check the tools by the profile of this client (see --profile)',
    },
    strict: {
      type: 'boolean', describe: 'exit code 1 when a profile does not accept every tool as it is',
    },
  }),
  ...about('Requests', {
    call: { type: 'string', value: 'TOOL', describe: 'call this tool, and judge the result' },
    args: {
      type: 'string', value: 'JSON', default: '{}', describe: 'the arguments of the call: a JSON object',
    },
    translate: translateFlag,
    ...timeoutFlags,
  }),
}

export const inspectFlags = { ...sharedFlags, ...ownFlags }

export type ReportFormat = 'text' | 'json' | 'sarif'

export interface InspectFlags {
  readonly diff: boolean
  readonly call: { readonly tool: string; readonly arguments: DataObject } | undefined
  readonly format: ReportFormat
  /** Of clients whose profiles are asked for. */
  readonly clients: readonly string[]
  /** What a profile does not accept as it is counts. */
  readonly strict: boolean
  readonly timeoutMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readInspectFlags = (given: Given): InspectFlags => {
  const values = valuesOf(ownFlags, given)
  const { call: tool, args, diff, client: clients, strict } = values
  if (strict && clients.length === 0 && !given.has('profile'))
    badUsage('--strict needs --profile or --client')
  if (given.has('args') && tool === undefined) badUsage('--args needs --call TOOL')
  const format = reportFormatOf(values)
  const others = [...given.keys()].filter(name => name !== 'diff' && name !== 'json' && name !== 'log-level')
  if (diff && others.length > 0) badUsage(`--diff compares two files, and knows no --${others.join(', --')}`)
  const call = tool === undefined ? undefined : { tool, arguments: argumentsOf(args) }
  return { diff, call, format, clients, strict, timeoutMs: timeoutMsOf(values) }
}

/** @throws CustomsError BAD_USAGE */
export const readInspectTarget = ({ words, command }: Rest): Target => {
  const [word] = words
  if (words.length > 1) badUsage('inspect takes one server, and two files after --diff')
  const isFile = word !== undefined && saved.test(word)
  return isFile ? { command, url: undefined, file: word } : { command, url: word }
}

const argumentsOf = (json: string): DataObject => {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    return badUsage(`--args is not JSON: ${messageOf(error)}`)
  }
  return isRecord(value) ? value : badUsage('--args must be a JSON object, such as {"city":"Paris"}')
}

/** @throws CustomsError BAD_USAGE */
export const reportFormatOf = (
  { json, sarif }: { readonly json: boolean; readonly sarif: boolean },
): ReportFormat => {
  if (json && sarif) badUsage('give either --json or --sarif, not both')
  return json ? 'json' : sarif ? 'sarif' : 'text'
}

const longestTimeout = 24 * 60 * 60

/** @throws CustomsError BAD_USAGE */
export const timeoutMsOf = ({ timeout }: Values<typeof timeoutFlags>): number => {
  const number = seconds('timeout', timeout)
  if (number > 0 && number <= longestTimeout) return number * 1000
  return badUsage(`--timeout ${JSON.stringify(timeout)}: must be a number of seconds above 0`)
}
