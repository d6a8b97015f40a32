import { CustomsError } from '../errors.js'
import { exactResult, markLongNumbers, withDigits } from '../lock/digits.js'
import type { Frame, FrameLimits } from '../protocol/frame.js'
import { isArray, isObject, isString, member, parseJson, unmetered, type Json, type JsonObject } from '../protocol/unmetered.js'
import { listMethods, newestLegacy } from '../protocol/revisions/index.js'
import { parseFrame } from '../protocol/parse.js'
import { plain } from './plain.js'
import { answersOfReport, greeting, modern, response, type SavedAnswer } from './saved-report.js'

/** What a server answered once, as it was saved to a file. */
export interface Saved {
  /** By method, each answer as a message, in the order of the pages. */
  readonly answers: ReadonlyMap<string, readonly Frame[]>
  /** False when the file does not say who the server is, so that its revision is a guess. */
  readonly hasGreeting: boolean
}

/** What comes before a list, in the revisions with a handshake and in those without, and by which member it is known. */
const greetings: ReadonlyMap<string, string> = new Map([['initialize', 'protocolVersion'], ['server/discover', 'supportedVersions']])

/**
 * Reads answers that were saved: JSON-RPC responses (one, or one a line), the result of a list by itself, or a report of
 * `inspect --json`.
 * @param file what it is called in errors
 * @throws CustomsError BAD_CONFIG, naming the file and the line
 */
export const parseSaved = (text: string, file: string, limits: FrameLimits): Saved => {
  const answers = new Map<string, Frame[]>()
  for (const document of documentsOf(text, file)) {
    for (const { method, message } of answersOf(document)) {
      const known = answers.get(method) ?? []
      if (known.some(isLast)) throw unusable(document.place, `another answer to ${method}, after the last one`)
      answers.set(method, [...known, read(message, limits, document.place)])
    }
  }
  if (![...listMethods.keys()].some(method => answers.has(method))) throw unusable(file, 'there is no list in it')
  const hasGreeting = [...greetings.keys()].some(method => answers.has(method))
  if (!hasGreeting) {
    const { method, message } = guessedGreeting(answers)
    answers.set(method, [read(message, limits, file)])
  }
  return { answers, hasGreeting }
}

/** The results of a method's pages, to be compared digit by digit (see `markLongNumbers`). */
export const resultsOf = ({ answers }: Saved, method: string): readonly JsonObject[] =>
  (answers.get(method) ?? []).flatMap(frame => exactResult(frame.bytes) ?? resultOf(frame))

const resultOf = ({ message }: Frame): readonly JsonObject[] => (message.kind === 'result' ? [unmetered(message.result)] : [])

const isLast = (page: Frame): boolean => resultOf(page).some(result => !isString(member(result, 'nextCursor')))

/** One JSON text of the file, and where it stands. */
interface Document {
  readonly value: Json
  readonly text: string
  readonly place: string
}

const documentsOf = (text: string, file: string): readonly Document[] => {
  const whole = parse(text)
  if (!(whole instanceof Error)) return [{ value: whole, text, place: file }]
  const lines = text.split('\n').map((line, index) => ({ text: line, place: `${file}:${index + 1}` })).filter(({ text }) => text.trim() !== '')
  return lines.map(({ text, place }, index) => {
    const value = parse(text)
    if (!(value instanceof Error)) return { value, text, place }
    // Of a text over many lines, the error of the whole says more than that of its first line.
    throw unusable(place, `no JSON: ${plain((index === 0 ? whole : value).message, 120)}`)
  })
}

const parse = (text: string): Json | Error => {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

const answersOf = ({ value, text, place }: Document): readonly SavedAnswer[] => {
  if (!isObject(value)) throw unusable(place, 'neither a response, nor a list, nor a report')
  const marked = markLongNumbers(Buffer.from(text))
  const report = answersOfReport(marked === undefined ? value : parseJson(marked.toString()) ?? value)
  if (report !== undefined) return report.map(({ method, message }) => ({ method, message: withDigits(message) }))
  const isMessage = member(value, 'jsonrpc') !== undefined
  // A server of one era has only an error for who asks it in the way of the other.
  if (isMessage && isObject(member(value, 'error'))) return []
  const result = isMessage ? member(value, 'result') : value
  const method = isObject(result) ? methodAnswered(result) : undefined
  if (method === undefined) throw unusable(place, 'no answer that holds a list')
  // The text itself, so that it is judged word for word.
  return [{ method, message: isMessage ? text.trim() : response(text) }]
}

const methodAnswered = (result: JsonObject): string | undefined => {
  for (const [method, key] of greetings) if (member(result, key) !== undefined) return method
  for (const [method, { key }] of listMethods) if (isArray(member(result, key))) return method
  return undefined
}

/** Results of the modern revision say of what type they are; of the others the newest is the safest guess. */
const guessedGreeting = (answers: Saved['answers']): SavedAnswer => {
  const isModern = [...answers.values()].flat().flatMap(resultOf).some(result => member(result, 'resultType') !== undefined)
  const capabilities = Object.fromEntries([...answers.keys()].map(method => [method.split('/')[0] ?? method, {}]))
  return greeting(isModern ? modern : newestLegacy, { capabilities })
}

const read = (message: string, limits: FrameLimits, place: string): Frame => {
  const frame = parseFrame(Buffer.from(message), limits)
  if (frame.message.kind === 'result') return frame
  throw unusable(place, frame.faults[0]?.message ?? 'no response with an id')
}

const unusable = (place: string, reason: string): CustomsError => new CustomsError('BAD_CONFIG', `${place}: ${reason}`)
