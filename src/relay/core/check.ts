import type { Output } from './output.js'
import type { Checked, Exchange, Subject } from './vocabulary.js'
import type { Flow } from './flow.js'
import type { RelayOptions } from './options.js'
import type { Replies } from './order.js'

/** The schema checks that flows wait for. */
export class Checks {
  readonly #checkNow: RelayOptions['checkNow']
  readonly #output: Output
  readonly #replies: Replies<readonly Checked[]>

  constructor({ checkNow }: RelayOptions, output: Output, replies: Replies<readonly Checked[]>) {
    this.#checkNow = checkNow
    this.#output = output
    this.#replies = replies
  }

  /** One result for each subject, at once for cheap checks. @param exchange of the judged message */
  *check(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    const immediate = subjects.map(this.#checkNow)
    if (immediate.every(isDone)) return immediate
    const later = yield* this.#wait(subjects.filter((_, index) => immediate[index] === undefined), exchange)
    let next = 0
    return immediate.map((result, index) => result ?? later[next++] ?? unchecked(subjects[index]))
  }

  /** Lets other sessions run: a check without subjects. */
  *yieldToLoop(exchange: Exchange): Flow {
    yield* this.#wait([], exchange)
  }

  done(check: number, results: readonly Checked[]): void {
    this.#replies.arrived(check, results)
  }

  #wait(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    return this.#replies.to(check => this.#output.emit({ type: 'check', check, subjects }), exchange)
  }
}

const isDone = (result: Checked | undefined): result is Checked => result !== undefined

/** Used when the engine returns too few results. */
const unchecked = (subject: Subject | undefined): Checked => [
  { kind: 'unchecked', path: subject?.path ?? '', message: 'the engine gave no verdict' },
]
