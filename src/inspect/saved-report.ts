import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/unmetered.js'
import { isRevision, listMethods, modernRevisions, newestLegacy as legacy, traitsOf } from '../protocol/revisions/index.js'

/** An answer of the server's, and the method that it answered. */
export interface SavedAnswer {
  readonly method: string
  /** JSON-RPC. */
  readonly message: string
}

const isModern = (revision: string): boolean => isRevision(revision) && traitsOf(revision).modern

/** The newest revision without a handshake. */
export const modern = modernRevisions.at(-1) ?? legacy

/** @param result JSON text */
export const response = (result: string): string => `{"jsonrpc":"2.0","id":0,"result":${result}}`

/** How a server of a revision says who it is. @param said what it says besides the revision */
export const greeting = (revision: string, said: JsonObject, serverInfo?: Json): SavedAnswer => {
  const [method, result] = isModern(revision)
    ? ['server/discover', { supportedVersions: modernRevisions, ...said, ...(serverInfo && { _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } }) }]
    : ['initialize', { protocolVersion: revision, ...said, ...(serverInfo && { serverInfo }) }]
  return { method, message: response(JSON.stringify(result)) }
}

/** The answers that a report of `inspect --json` was made from; undefined for anything else. */
export const answersOfReport = (report: Json): readonly SavedAnswer[] | undefined => {
  const server = isObject(report) ? member(report, 'server') : undefined
  if (!isObject(report) || member(report, 'version') !== 1 || !isObject(server)) return undefined
  const revision = member(server, 'revision')
  const instructions = member(server, 'instructions')
  const said = { capabilities: member(server, 'capabilities') ?? {}, ...(isString(instructions) && { instructions }) }
  const problems = elements(report, 'problems')
  const lists = [...listMethods].flatMap(([method, { key }]): SavedAnswer[] => {
    const list = elements(report, key)
    const values = key === 'tools' ? list.map(tool => (isObject(tool) ? (member(tool, 'definition') ?? null) : null)) : list
    // A list that could not be had to its end still ends too early.
    const isCut = problems.some(problem => isObject(problem) && member(problem, 'list') === key)
    return [{ method, message: response(JSON.stringify({ [key]: values, ...(isCut && { nextCursor: 'cut' }) })) }]
  })
  return [greeting(isString(revision) ? revision : legacy, said, member(server, 'serverInfo')), ...lists]
}

const elements = (object: JsonObject, key: string): readonly Json[] => {
  const value = member(object, key)
  return isArray(value) ? value : []
}
