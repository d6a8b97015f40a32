import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { errorFrame } from '#relay/core/refusal.js'
import { asError, CustomsError } from '#relay/base/errors.js'
import { resultDigits, markLongNumbers, withDigits } from '#relay/lock/digits.js'
import { edit } from '#relay/protocol/edit.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import { errorCode, type Request } from '#relay/protocol/json-rpc.js'
import { parseFrame } from '#relay/protocol/parse.js'
import {
  isRevision, newestLegacy as legacy, listMethods, modernRevisions, newestLegacy, traitsOf,
} from '#relay/protocol/revisions/index.js'
import {
  isList, isRecord, isString, type Data, type DataObject, field, parseData, unmetered,
} from '#relay/protocol/unmetered.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { plain } from '#relay/base/plain.js'

/** The responses of a server, as saved to a file. */
export interface Saved {
  /** Responses by method, in the order of pages. */
  readonly responses: ReadonlyMap<string, readonly Frame[]>
  /** False when the file has no initialize or discover result, so that the revision is a guess. */
  readonly hasGreeting: boolean
}

/** The first response of a session, with and without a handshake, and the member that identifies it. */
const greetings: ReadonlyMap<string, string> =
  new Map([['initialize', 'protocolVersion'], ['server/discover', 'supportedVersions']])

/**
 * Reads saved responses: JSON-RPC responses (one, or one a line), a bare list result, or a report of `inspect
 * --json`.
 * @param file what it is called in errors
 * @throws CustomsError BAD_CONFIG, naming the file and the line
 */
export const parseSaved = (text: string, file: string, limits: FrameLimits): Saved => {
  const responses = new Map<string, Frame[]>()
  for (const document of documentsOf(text, file)) {
    for (const { method, message } of responsesOf(document)) {
      const known = responses.get(method) ?? []
      if (known.some(isLast)) {
        throw unusable(document.place, `another answer to ${method}, after the last one`)
      }
      responses.set(method, [...known, read(message, limits, document.place)])
    }
  }
  if (![...listMethods.keys()].some(method => responses.has(method))) {
    throw unusable(file, 'there is no list in it')
  }
  const hasGreeting = [...greetings.keys()].some(method => responses.has(method))
  if (!hasGreeting) {
    const { method, message } = guessedGreeting(responses)
    responses.set(method, [read(message, limits, file)])
  }
  return { responses, hasGreeting }
}

/** The results of a method's pages, with exact digits (see `markLongNumbers`). */
export const resultsOf = ({ responses }: Saved, method: string): readonly DataObject[] =>
  (responses.get(method) ?? []).flatMap(frame => resultDigits(frame.bytes) ?? resultOf(frame))

const resultOf = ({ message }: Frame): readonly DataObject[] =>
  (message.kind === 'result' ? [unmetered(message.result)] : [])

const isLast = (page: Frame): boolean =>
  resultOf(page).some(result => !isString(field(result, 'nextCursor')))

/** One JSON text of the file, and its place. */
interface Document {
  readonly value: Data
  readonly text: string
  readonly place: string
}

const documentsOf = (text: string, file: string): readonly Document[] => {
  const whole = parse(text)
  if (!(whole instanceof Error)) return [{ value: whole, text, place: file }]
  const lines = text.split('\n').map((line, index) => ({ text: line, place: `${file}:${index + 1}` }))
    .filter(({ text }) => text.trim() !== '')
  return lines.map(({ text, place }, index) => {
    const value = parse(text)
    if (!(value instanceof Error)) return { value, text, place }
    // For a text of many lines, the error of the whole says more than that of its first line.
    throw unusable(place, `no JSON: ${plain((index === 0 ? whole : value).message, 120)}`)
  })
}

const parse = (text: string): Data | Error => {
  try {
    return JSON.parse(text) as Data
  } catch (error) {
    return asError(error)
  }
}

const responsesOf = ({ value, text, place }: Document): readonly SavedResponse[] => {
  if (!isRecord(value)) throw unusable(place, 'neither a response, nor a list, nor a report')
  const marked = markLongNumbers(Buffer.from(text))
  const report = responsesOfReport(marked === undefined ? value : parseData(marked.toString()) ?? value)
  if (report !== undefined) {
    return report.map(({ method, message }) => ({ method, message: withDigits(message) }))
  }
  const isMessage = field(value, 'jsonrpc') !== undefined
  // A server of one era answers the other era's first request with an error.
  if (isMessage && isRecord(field(value, 'error'))) return []
  const result = isMessage ? field(value, 'result') : value
  const method = isRecord(result) ? methodAnswered(result) : undefined
  if (method === undefined) throw unusable(place, 'no answer that holds a list')
  // The original text, so that it is validated byte for byte.
  return [{ method, message: isMessage ? text.trim() : response(text) }]
}

const methodAnswered = (result: DataObject): string | undefined => {
  for (const [method, key] of greetings) if (field(result, key) !== undefined) return method
  for (const [method, { key }] of listMethods) if (isList(field(result, key))) return method
  return undefined
}

/** Modern results have a resultType; for all others the newest legacy revision is the best guess. */
const guessedGreeting = (responses: Saved['responses']): SavedResponse => {
  const isModern =
    [...responses.values()].flat().flatMap(resultOf)
      .some(result => field(result, 'resultType') !== undefined)
  const capabilities =
    Object.fromEntries([...responses.keys()].map(method => [method.split('/')[0] ?? method, {}]))
  return greeting(isModern ? modern : newestLegacy, { capabilities })
}

const read = (message: string, limits: FrameLimits, place: string): Frame => {
  const frame = parseFrame(Buffer.from(message), limits)
  if (frame.message.kind === 'result') return frame
  throw unusable(place, frame.faults[0]?.message ?? 'no response with an id')
}

const unusable = (place: string, reason: string): CustomsError =>
  new CustomsError('BAD_CONFIG', `${place}: ${reason}`)

/** A server's response, and the method of its request. */
interface SavedResponse {
  readonly method: string
  /** JSON-RPC. */
  readonly message: string
}

const isModern = (revision: string): boolean => isRevision(revision) && traitsOf(revision).modern

/** The newest revision without a handshake. */
export const modern = modernRevisions.at(-1) ?? legacy

/** @param result JSON text */
export const response = (result: string): string => `{"jsonrpc":"2.0","id":0,"result":${result}}`

/** The first response of a server of a revision. @param said what it says besides the revision */
export const greeting = (revision: string, said: DataObject, serverInfo?: Data): SavedResponse => {
  const [method, result] = isModern(revision)
    ? ['server/discover', {
        supportedVersions: modernRevisions, ...said,
        ...(serverInfo && { _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } }),
      }]
    : ['initialize', { protocolVersion: revision, ...said, ...(serverInfo && { serverInfo }) }]
  return { method, message: response(JSON.stringify(result)) }
}

/** The responses behind a report of `inspect --json`; undefined for anything else. */
const responsesOfReport = (report: Data): readonly SavedResponse[] | undefined => {
  const server = isRecord(report) ? field(report, 'server') : undefined
  if (!isRecord(report) || field(report, 'version') !== 1 || !isRecord(server)) return undefined
  const revision = field(server, 'revision')
  const instructions = field(server, 'instructions')
  const said =
    { capabilities: field(server, 'capabilities') ?? {}, ...(isString(instructions) && { instructions }) }
  const problems = elements(report, 'problems')
  const lists = [...listMethods].flatMap(([method, { key }]): SavedResponse[] => {
    const list = elements(report, key)
    const values = key === 'tools'
      ? list.map(tool => (isRecord(tool) ? (field(tool, 'definition') ?? null) : null))
      : list
    // An incomplete list stays incomplete.
    const isCut = problems.some(problem => isRecord(problem) && field(problem, 'list') === key)
    return [{
      method, message: response(JSON.stringify({ [key]: values, ...(isCut && { nextCursor: 'cut' }) })),
    }]
  })
  return [greeting(isString(revision) ? revision : legacy, said, field(server, 'serverInfo')), ...lists]
}

const elements = (object: DataObject, key: string): readonly Data[] => {
  const value = field(object, key)
  return isList(value) ? value : []
}

/** A server that replays saved responses byte for byte. */
export class SavedServer implements Transport {
  /** Number of responses sent, by method. */
  readonly #given = new Map<string, number>()
  #onEvent: (event: TransportEvent) => void = () => {}

  constructor(private readonly saved: Saved, private readonly limits: FrameLimits) {}

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
  }

  send(_exchange: Exchange, { message }: Frame): boolean {
    if (message.kind === 'request') {
      const frame = this.#answer(message)
      // Asynchronously, like a pipe.
      setImmediate(() => this.#onEvent({ type: 'frame', exchange: stdioExchange, frame }))
    }
    return true
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.#onEvent({ type: 'ended', reason: 'the connection was closed' })
    this.#onEvent = () => {}
    return Promise.resolve()
  }

  #answer(request: Request): Frame {
    const { method, key } = request
    const pages = this.saved.responses.get(method)
    if (pages === undefined) {
      const isList = listMethods.has(method)
      return isList
        ? errorFrame(request, errorCode.gone, 'the file does not have this list')
        : errorFrame(request, errorCode.methodNotFound, 'Method not found')
    }
    const given = this.#given.get(method) ?? 0
    this.#given.set(method, given + 1)
    const page = pages[given]
    return page === undefined
      ? errorFrame(request, errorCode.gone, 'the file ends before the last page')
      : parseFrame(edit(page.bytes, [{ path: ['id'], replace: key }]), this.limits)
  }
}
