import { isObject, isString, type JsonObject, member } from '#relay/protocol/json.js'
import { hasFinalMember, metaPrefix, traitsOf } from '#relay/protocol/revisions/index.js'
import { type Ledger, weights } from './memory.js'
import { type Called, type PendingRequest, toJudgeResult } from './request.js'
import type { Terms } from './terms.js'

/** Bounds for remembered tasks, oldest forgotten first. The result of any other task is result/unchecked. */
const maxTasks = 10_000
const maxBytes = 16 * 1024 * 1024
const longestId = 1000

const extension = `${metaPrefix}tasks`

/** A call that runs as a task, with the data to judge its result by. */
export interface Task {
  readonly called: Called
  readonly terms: Terms
  readonly weight: number
  /** The server has reported its outcome, and may use its id again. */
  isOver: boolean
}

/**
 * The tool of each task, so that its final result is judged like a direct one: 2025-11-25 (`params.task`,
 * `tasks/result`) and the extension `io.modelcontextprotocol/tasks` (`resultType: "task"`, `tasks/get`).
 */
export class Tasks {
  readonly #tasks = new Map<string, Task>()
  readonly #ledger: Ledger

  constructor(session: Ledger) {
    this.#ledger = session.account(maxBytes)
  }

  /**
   * True when the result is a task handle that the client asked for. A handle with content is judged as a
   * result, because a lenient client would read it as one.
   */
  creates(request: PendingRequest, result: JsonObject): boolean {
    const { terms, called } = request
    const handle = traitsOf(terms.revision).modern
      ? modernHandle(terms, result)
      : legacyHandle(request, result)
    const id = member(handle, 'taskId')
    if (!isString(id) || called === undefined || hasFinalMember(result)) return false
    // The id of a running task of another tool: judged as a result, which it fails to be.
    const known = this.#tasks.get(id)
    if (known !== undefined && !known.isOver && known.called.name !== called.name) return false
    this.began(id, called, terms)
    return true
  }

  find(id: string | undefined): Task | undefined {
    return id === undefined ? undefined : this.#tasks.get(id)
  }

  /** The server reports the state of a task. @param method of the request */
  onState(id: string | undefined, method: string, state: JsonObject): void {
    const task = this.find(id)
    if (
      task !== undefined
      && (method === 'tasks/result' || outcomes.includes(member(state, 'status') ?? null))
    )
      task.isOver = true
  }

  began(id: string, asked: Called, terms: Terms): void {
    if (id.length > longestId) return
    const { called, weight: ofTool } = toJudgeResult(asked)
    const weight = weights.task + 2 * id.length + ofTool
    this.#ledger.add(weight - (this.#tasks.get(id)?.weight ?? 0))
    this.#tasks.set(id, { called, terms, weight, isOver: false })
    for (const [oldest, task] of this.#tasks) {
      if (this.#tasks.size <= maxTasks && this.#ledger.kept <= maxBytes) return
      this.#tasks.delete(oldest)
      this.#ledger.add(-task.weight)
    }
  }
}

/** Final statuses (2025-11-25, Tasks, Task Status Lifecycle). */
const outcomes: readonly unknown[] = ['completed', 'failed', 'cancelled']

const legacyHandle = ({ wantsTask }: PendingRequest, result: JsonObject): JsonObject | undefined => {
  const task = member(result, 'task')
  return wantsTask && isObject(task) ? task : undefined
}

const modernHandle = ({ capabilities }: Terms, result: JsonObject): JsonObject | undefined => {
  const extensions = member(capabilities, 'extensions')
  const declared = isObject(extensions) && isObject(member(extensions, extension))
  return declared && member(result, 'resultType') === 'task' ? result : undefined
}
