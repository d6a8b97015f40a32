import type { Checked, SchemaChecker, SchemaLimits, Subject } from '#core/check.js'
import type { Exchange } from '#core/event.js'
import { ChurnMap } from '#core/memory.js'

/** The schema checks in progress, and the actions that must wait for them to keep order. */
export class RunningChecks {
  readonly #checker: SchemaChecker
  readonly #session: string
  /** Results that the engine has promised, until the relay asks for them. */
  readonly #promised = new ChurnMap<Subject, Promise<Checked>>()
  readonly #exchanges = new ChurnMap<number, Exchange>()
  readonly #underWay = new ChurnMap<Exchange, { checks: number; readonly waiting: (() => void)[] }>()
  #whenDone: (() => void) | undefined

  /** @param session identifies the session to the checker */
  constructor(checker: SchemaChecker, session: string) {
    this.#checker = checker
    this.#session = session
  }

  /** The engine's verdict, if it has one at once. */
  readonly now = (subject: Subject): Checked | undefined => {
    let checked: Checked | Promise<Checked>
    try {
      checked = this.#checker.check(subject, this.#session)
    } catch {
      return failed(subject)
    }
    if (!(checked instanceof Promise)) return checked
    this.#promised.set(subject, checked.catch(() => failed(subject)))
    return undefined
  }

  /** The engine's later verdicts. Without subjects: yields to the event loop. */
  begin(check: number, subjects: readonly Subject[], exchange: Exchange): Promise<readonly Checked[]> {
    this.#exchanges.set(check, exchange)
    const underWay = this.#underWay.get(exchange)
    if (underWay === undefined) this.#underWay.set(exchange, { checks: 1, waiting: [] })
    else underWay.checks++
    if (subjects.length === 0) return new Promise(resolve => setImmediate(() => resolve([])))
    const promised = subjects.map(subject => this.#promised.get(subject) ?? Promise.resolve(failed(subject)))
    for (const subject of subjects) this.#promised.delete(subject)
    return Promise.all(promised)
  }

  /** Call when all effects of the check are performed. */
  ended(check: number): void {
    const exchange = this.#exchanges.get(check)
    if (exchange === undefined) return
    this.#exchanges.delete(check)
    const underWay = this.#underWay.get(exchange)
    if (underWay !== undefined && --underWay.checks === 0) {
      this.#underWay.delete(exchange)
      for (const act of underWay.waiting) act()
    }
    if (this.#exchanges.size === 0) this.#whenDone?.()
  }

  /** Runs an action after the checks of the exchange, or at once. */
  after(exchange: Exchange, act: () => void): void {
    const underWay = this.#underWay.get(exchange)
    if (underWay === undefined) act()
    else underWay.waiting.push(act)
  }

  /** Runs an action after all checks, or at once. */
  afterAll(act: () => void): void {
    if (this.#exchanges.size === 0) act()
    else this.#whenDone = act
  }
}

/** A check that crashed gives no verdict: fail closed. */
const failed = ({ path }: Subject): Checked => [{ kind: 'unchecked', path, message: 'the engine failed' }]

/**
 * The schema engine, loaded while the server starts: it is a quarter of the relay's code, and not needed
 * before the first list or call. Earlier checks wait for it.
 */
export const loadChecker = (limits: SchemaLimits): SchemaChecker => {
  let engine: SchemaChecker | undefined
  const loaded = new Promise<void>(resolve => void setImmediate(resolve)).then(async () => {
    const { createSchemaChecker } = await import('#schema/index.js')
    engine = createSchemaChecker(limits)
    return engine
  })
  return {
    check: (subject, session) =>
      engine ? engine.check(subject, session) : loaded.then(ready => ready.check(subject, session)),
    close: async () => (await loaded).close(),
  }
}
