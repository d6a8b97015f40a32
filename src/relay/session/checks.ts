import type { Checked, SchemaChecker, SchemaLimits, Subject } from '#relay/core/vocabulary.js'
import { ChurnMap } from '#relay/core/memory.js'
import type { JsonObject } from '#relay/protocol/json.js'

/** The schema checks of one session. */
export class RunningChecks {
  /** Results that the schema engine has not given at once, until the core asks for them. */
  readonly #promised = new ChurnMap<Subject, Promise<Checked>>()
  /** @param session identifies the session to the checker */
  constructor(private readonly checker: SchemaChecker, private readonly session: string) {}

  /** The engine's verdict, if it has one at once. */
  readonly now = (subject: Subject): Checked | undefined => {
    let checked: Checked | Promise<Checked>
    try {
      checked = this.checker.check(subject, this.session)
    } catch {
      return failed(subject)
    }
    if (!(checked instanceof Promise)) return checked
    this.#promised.set(subject, checked.catch(() => failed(subject)))
    return undefined
  }

  /** See `SchemaChecker`. */
  tableOf(schema: JsonObject | boolean, length: number): Buffer | undefined {
    return this.checker.tableOf?.(schema, length)
  }

  /**
   * The results that `now` could not give at once. Without subjects, it resolves with no results in a later
   * turn of the event loop.
   */
  results(subjects: readonly Subject[]): Promise<readonly Checked[]> {
    if (subjects.length === 0) return new Promise(resolve => setImmediate(() => resolve([])))
    const promised = subjects.map(subject => this.#promised.get(subject) ?? Promise.resolve(failed(subject)))
    for (const subject of subjects) this.#promised.delete(subject)
    return Promise.all(promised)
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
    const { createSchemaChecker } = await import('#relay/schema/index.js')
    engine = createSchemaChecker(limits)
    return engine
  })
  return {
    check: (subject, session) =>
      engine ? engine.check(subject, session) : loaded.then(ready => ready.check(subject, session)),
    tableOf: (schema, length) => engine?.tableOf?.(schema, length),
    close: async () => (await loaded).close(),
  }
}
