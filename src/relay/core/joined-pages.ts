import { type Edit, edited } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString, type JsonObject, member } from '#relay/protocol/json.js'
import { nextPage } from '#relay/protocol/pages.js'
import { methodOf } from '#relay/protocol/revisions/index.js'
import { slice } from '#relay/protocol/scan.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import { joinsPages } from './findings.js'
import type { Flow } from './flow.js'
import type { Ledger } from './memory.js'
import type { PageRequests, PageResponse } from './page-requests.js'
import { PendingRequest } from './request.js'

/** Most bytes of lists that are being joined. */
const maxBytes = 16 * 1024 * 1024

type Judge = (request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject) => Flow<Frame>

/** Joins the pages of a list under `compat`, for clients that never ask for the second one. */
export class JoinedPages {
  readonly #core: Core
  readonly #requests: PageRequests
  readonly #judge: Judge
  readonly #ledger: Ledger

  constructor(core: Core, requests: PageRequests, judge: Judge) {
    this.#core = core
    this.#requests = requests
    this.#judge = judge
    this.#ledger = core.ledger.account(maxBytes)
  }

  /**
   * @param first the judged first page
   * @param result the server's
   * @returns the whole list; where a page is not to be had, those before it and the cursor for it
   */
  *join(request: PendingRequest, first: Frame, result: JsonObject): Flow<Frame> {
    const { method, terms: { revision }, cursor, findings } = request
    const key = methodOf(method)?.list?.key
    if (!joinsPages(this.#core.ruling.policy)) return first
    const start = key === undefined || cursor !== undefined ? undefined : elements(first, key)
    if (key === undefined || start === undefined) return first
    const next = nextPage(member(result, 'nextCursor'), revision, noCursors)
    if (next.kind !== 'page') return first
    const { texts, left } = yield* this.#rest(request, key, next.cursor)
    if (texts.length === 0) return first
    const [found, told] = [this.#core.findings(findings.meter), this.#core.findings(findings.meter)]
    found.add('list/shape', [{ path: '/result/nextCursor', message: 'the list goes on on another page' }])
    told.mended('list/shape', found, `joined ${texts.length + 1} pages`)
    findings.include(told)
    const all = [start, ...texts].filter(text => text.length > 0).join(',')
    const edits: readonly Edit[] = [
      { path: ['result', key], replace: `[${all}]` },
      left === undefined
        ? { path: ['result', 'nextCursor'], remove: true }
        : { path: ['result', 'nextCursor'], replace: JSON.stringify(left) },
    ]
    return edited(first, edits)
  }

  /** The elements of the pages after the first. @property left the cursor of a page that is not to be had */
  *#rest(
    request: PendingRequest, key: string, cursor: string,
  ): Flow<{ readonly texts: readonly string[]; readonly left: string | undefined }> {
    const { order } = this.#core
    const seen = new Set<string>()
    const texts: string[] = []
    let left: string | undefined = cursor
    let kept = 0
    // The HTTP response to the client must not end before.
    order.hold(request.exchange, true)
    const walk = this.#requests.begin(request)
    try {
      while (left !== undefined) {
        seen.add(left)
        const response: PageResponse | undefined = yield* this.#requests.ask(walk, request.method, left)
        const message = response?.message
        if (response === undefined || message?.kind !== 'result' || response.findings.isStop) break
        const text = yield* this.#page(request, response, message.result, key, left)
        if (text === undefined || !this.#ledger.hasRoom(text.length)) break
        this.#ledger.add(text.length)
        kept += text.length
        texts.push(text)
        const next = nextPage(member(message.result, 'nextCursor'), request.terms.revision, seen)
        const following = member(message.result, 'nextCursor')
        left = next.kind !== 'end' && next.kind !== 'repeats' && isString(following) ? following : undefined
        if (next.kind === 'endless') break
      }
    } finally {
      this.#ledger.add(-kept)
      this.#requests.end(walk)
      order.release(request.exchange)
    }
    return { texts, left }
  }

  /** Judges a page as if the client had asked for it. @returns its elements; undefined when it is blocked */
  *#page(
    request: PendingRequest, { exchange, frame, findings }: PageResponse, result: JsonObject, key: string,
    cursor: string,
  ): Flow<string | undefined> {
    const { id, key: idKey, method, terms, scopes, client } = request
    const message = { kind: 'request', id, key: idKey, method, params: { cursor } } as const
    const asking = { bytes: noBytes, message, faults: [], envelope: { scopes, client } }
    const asked =
      new PendingRequest(request.exchange, asking, message, terms, this.#core.output.now, findings)
    asked.generation = request.generation
    const judged = yield* this.#judge(asked, exchange, frame, result)
    this.#core.records.write(
      { event: method, from: 'relay', tools: asked.tools, bytes: { response: frame.bytes.length } },
      findings, terms, frame,
    )
    request.tools = request.tools && [...request.tools, ...(asked.tools ?? [])]
    request.shownTools = request.shownTools && [...request.shownTools, ...(asked.shownTools ?? [])]
    return elements(judged, key)
  }
}

const noBytes = Buffer.alloc(0)
const noCursors: ReadonlySet<string> = new Set()

/** The text between the brackets of a list. */
const elements = (frame: Frame, key: string): string | undefined => {
  const list = slice(frame, ['result', key])?.toString()
  return list?.startsWith('[') === true ? list.slice(1, -1).trim() : undefined
}
