import type { WorldName } from './run.js'

/** A change of one place of the program that breaks an invariant. */
export interface Mutation {
  readonly name: string
  /** In src/. */
  readonly file: string
  readonly before: string
  readonly after: string
  /** Where it is looked for. */
  readonly world: WorldName
  /** What breaks. */
  readonly invariant: string
}

const list = 'newest list'
const core = (name: string, file: string, before: string, after: string, invariant: string): Mutation =>
  ({ name, file: `relay/core/${file}`, before, after, world: 'session', invariant })
const gateway = (name: string, file: string, before: string, after: string, invariant: string): Mutation =>
  ({ name, file, before, after, world: 'gateway', invariant })

const wrap = (name: string, before: string, after: string, invariant: string): Mutation =>
  ({ name, file: 'relay/transport/upstream/session/session.ts', before, after, world: 'wrap', invariant })

const merge = (name: string, file: string, before: string, after: string, invariant: string): Mutation =>
  ({ name: `merged: ${name}`, file: `relay/host/merge/${file}`, before, after, world: 'merge', invariant })

export const mutations: readonly Mutation[] = [
  core('a change leaves the list current', 'catalog.ts',
    'this.#changed = true\n    this.#whole = false', 'this.#whole = false', list),
  core('an unknown tool counts as absent without a whole list', 'catalog.ts',
    '(this.#whole ? \'absent\' : undefined)', '\'absent\'', list),
  core('a page that was asked for before a change counts', 'catalog.ts',
    'const isOlder = generation < this.#newest', 'const isOlder = false', list),
  core('definitions from before a change stay', 'variants.ts',
    'generation === last', 'generation <= last', list),
  core('where no list can be had the one from before a change judges', 'tool-lists.ts',
    'return isRead ? this.catalog.lookupLast(name) : undefined', 'return this.catalog.lookupLast(name)', list),
  core('a list_changed changes nothing', 'server-frames.ts',
    'if (isListChange) this.#lists.catalog.changed()', '', list),
  core('a list_changed is not forwarded', 'server-frames.ts',
    'if (!findings.isStop) output.toClient(exchange, sent)',
    'if (!findings.isStop && !isListChange) output.toClient(exchange, sent)', 'changed reaches'),
  core('progress of clients is dropped', 'server-frames.ts',
    'const isOfRelay = key !== undefined && this.#lists.requests.ids.isRelayMade(key)',
    'const isOfRelay = key !== undefined', 'progress reaches'),
  core('results are not checked', 'tool-results.ts',
    'checked = (yield* this.#core.check(subjects, exchange)).flat()', 'checked = []', list),
  core('a result is not judged by the newest list', 'tool-results.ts',
    'const isOfTool = called?.tool !== undefined && ', 'const isOfTool = false && called?.tool !== undefined && ', list),
  core('a tool of an old list counts as one of the newest', 'catalog.ts',
    'return this.#changed ? -1 : this.#generation', 'return this.#generation', list),
  core('a client may answer twice', 'server-requests.ts',
    'this.#pending.close(pending)\n    // Taken', '{}\n    // Taken', 'one answer of clients'),
  core('an answer to nothing passes', 'server-requests.ts',
    'if (!isKnown) ask(', 'if (!isKnown && pending !== undefined) ask(', 'one answer of clients'),
  core('undeclared requests of servers pass', 'server-requests.ts',
    'core.ask(\'onServerRequest\', asked, findings, path)', 'void asked', 'declared'),
  core('a batch is answered in parts', 'batches.ts',
    'if (keys.some(key => this.#stages.isAwaiting(exchange, key))) continue', '', 'whole batch'),
  gateway('a client cannot resume what it began', 'relay/transport/upstream/forward.ts',
    'const resumable = isClientFrame && inSession(request) && hasPlace(position)', 'const resumable = false', 'answer reaches'),
  gateway('an id is unique in a group', 'relay/core/pending.ts',
    'return this.#stateless ? exchange : stdioExchange', 'return stdioExchange', 'one answer'),
  {
    name: 'a frame overtakes its record', file: 'relay/session/outbox.ts', world: 'session', invariant: 'record first',
    before: 'else if (!this.#awaitsRecords && !this.#isDraining) this.#perform(act)',
    after: 'else if (!this.#isDraining) this.#perform(act)',
  },
  {
    name: 'a frame overtakes a record that waits for its digest', file: 'relay/session/outbox.ts', world: 'session',
    invariant: 'record first', before: 'if (this.#awaitsDigests) this.#afterDigests.push(() => this.do(act))',
    after: 'if (this.#awaitsDigests) this.#perform(act)',
  },
  gateway('the server is not told that a client left', 'relay/session/session.ts',
    'return this.#outbox.do(() => this.#ends.server.shut?.(event.exchange))', 'return', 'zero'),
  gateway('a paused side is not resumed', 'relay/session/backpressure.ts',
    'this.ends[side].resume(paused.pausedOn)', 'void side', 'one answer'),
  gateway('idle sessions live on', 'relay/transport/front/sessions/registry.ts',
    'entry.stop = timers.after(idleMs(), () => session.end(\'nobody used the session\'))', 'void timers', 'zero'),
  gateway('groups of all clients are one', 'relay/transport/front/sessions/router.ts',
    '${revision} ${this.#generation} ${arrival.context(this.#contextSource)}',
    '${revision} ${this.#generation}', list),
  gateway('a session lives on whose id nobody got (M1)', 'relay/transport/front/sessions/router.ts',
    'if (idle && kind !== \'stateless\' && names.length === 0 && !session.answered) {', 'if (idle && kind === undefined) {',
    'owned sessions'),
  gateway('a client that left while the replicas were asked gets a stream (M2)', 'relay/transport/front/endpoints.ts',
    'const elsewhere = await router.askReplicas(arrival)\n    if (hasLeft(response)) return undefined',
    'const elsewhere = await router.askReplicas(arrival)', 'owned streams'),
  gateway('a body counts for ever (M3)', 'relay/transport/front/quota.ts',
    '      this.give(this.#taken)\n', '', 'zero'),
  gateway('released places stay taken', 'relay/transport/front/quota.ts',
    '    this.#all -= left\n', '', 'zero'),
  gateway('a response does not end with its last answer', 'relay/transport/front/reply.ts',
    'if (this.#pending <= 0) this.#endCollected()', 'void this.#pending', 'one answer'),
  gateway('revoked tokens stay', 'relay/transport/front/front.ts',
    '    this.#gate = gateOf(this.options.address, settings)\n    this.#site = settings.site',
    '    this.#site = settings.site', 'reload holds'),
  gateway('a reload keeps the rules', 'relay/host/serve/gateway.ts',
    'currentRuling(parts, one, configuration).now = rulingOf(one, configuration)',
    'void currentRuling(parts, one, configuration)', 'reload holds'),
  gateway('a request waits for no setup (H4)', 'relay/host/processes/relay-process.ts',
    'running.generation < wanted.generation', 'running.generation < 1', 'reload holds'),
  gateway('the requests of a lost process have no answer', 'relay/host/processes/relay-process.ts',
    '    end.lose()\n', '', 'one answer'),
  gateway('a cancelled request keeps its response (L1)', 'relay/core/client-requests.ts',
    '    this.#complete(request.exchange, true)\n', '', 'cancelled ends'),
  gateway('the stream of a client that left stays open', 'relay/transport/upstream/forward.ts',
    '    opened?.controller?.abort()\n', '', 'owned streams'),
  gateway('an answer on another stream is lost (D1)', 'relay/transport/upstream/forward.ts',
    'if (reply.status === 202) session', 'if (reply.status === 999) session',
    'answer reaches'),
  gateway('a subscription takes the log messages (D2)', 'relay/transport/one-process/requests.ts',
    'const asking = open.filter(({ logLevel }) => logLevel !== undefined)', 'const asking: SentRequest[] = []',
    'log reaches'),
  gateway('the list of a process that is gone judges the next one', 'relay/transport/one-process/server.ts',
    '    for (const port of this.#ports) port.report({ type: \'renewed\' })\n', '', list),
  wrap('the list of a lost session judges in the next one',
    '      if (renewed) this.report({ type: \'renewed\' })\n', '', list),
  wrap('a call for which a session was lost is not sent again',
    'if (renewed && call.hasRequests && isWanted(call)) return', 'if (false) return', 'answer reaches'),
  wrap('a call for which a session was lost is sent twice', 'isWanted(call)) return this.#post(call, false)',
    'isWanted(call)) return this.#post(call, false).then(() => this.#post(call, false))', 'runs once'),
  {
    name: 'a stream that was cut is not resumed', file: 'relay/transport/upstream/session/responses.ts', world: 'wrap',
    invariant: 'answer reaches', before: 'if (!resumable || call.isAnswered) return', after: 'if (true) return',
  },
  {
    name: 'a stream is resumed from its beginning', file: 'relay/transport/upstream/session/responses.ts', world: 'wrap',
    invariant: 'answer reaches', before: 'await get(position.lastEventId, signal)',
    after: 'await get(call ? undefined : position.lastEventId, signal)',
  },
  {
    name: 'an answer that the translator gave up reaches the client', file: 'relay/eras/legacy-client.ts',
    world: 'translated', invariant: 'one answer', before: ' || isLate) return true', after: ') return true',
  },
  merge('questions of servers keep their ids', 'questions.ts',
    'const number = (this.#last += 1)', 'const number = Number(message.key)', 'one answer of clients'),
  merge('an answer of the client goes to another server', 'questions.ts',
    'this.#legs.requests.notify(found.leg, answerUnder', 'this.#legs.requests.notify(this.#legs.all()[0] ?? found.leg, answerUnder',
    'one answer of clients'),
  merge('questions of a server that died stay open', 'merger.ts', '    this.#questions.departed(leg)\n', '', 'withdrawn reaches'),
  merge('a withdrawn question stays open', 'questions.ts',
    'if (key === undefined) return\n', 'return\n', 'withdrawn reaches'),
  merge('a call is not cancelled at its server', 'leg-requests.ts',
    'this.#host.emit({ type: \'send-to-leg\', leg: leg.name, exchange, frame: cancellation })', 'void exchange', 'cancelled reaches'),
  merge('a change within a second is forgotten', 'changes.ts',
    '    this.#host.after(left, () => this.#tellNow(capability))\n', '', 'changed reaches'),
  merge('requests are lost with their server', 'leg-requests.ts', '      pending.answered(reason)\n', '', 'one answer'),
  merge('a request may be answered twice', 'requests.ts',
    'if (!this.isOpen(asked)) return\n', 'this.isOpen(asked)\n', 'one answer'),
  merge('a server that died is not opened again', 'legs.ts',
    'if (leg.state === \'down\' && this.#legs.get(leg.name) === leg) this.#open(leg)', 'void leg', 'whole list'),
  merge('a list waits for the slowest', 'lists.ts', 'const stop = this.#host.after(listMs, finish)', 'const stop = () => undefined', 'one answer'),
  merge('a name that two claim is that of the first', 'shown.ts', 'if (claims.length > 1) {', 'if (claims[0]?.server !== server) {', 'whole list'),
  merge('calls keep the shown name', 'routing.ts', 'target.name === shown ? []', 'target.name !== \'\' ? []', 'routes'),
  gateway('a client does not get the event id of a question that the relay answers', 'relay/core/server-requests.ts',
    '    output.withheld(exchange, frame)\n', '', 'one answer'),
  gateway('an idle relay process ends before it has said so', 'relay/host/serve/relay-process.ts',
    'realTimers.endOfTurn(() => lifetime.hurry())', 'lifetime.hurry()', 'answer reaches'),
  gateway('two clients have one number', 'relay/transport/one-process/requests.ts',
    'number: ++this.#last', 'number: (this.#last = (this.#last + 1) % 2)', 'own bytes'),
  gateway('any long frame is freed (H3)', 'relay/transport/frames.ts',
    'if (owners.delete(frame)) free(frame.bytes)', 'free(frame.bytes)', 'own bytes'),
]
