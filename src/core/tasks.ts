import { isObject, isString, member, weigh, type JsonObject } from '../protocol/json.js'
import { metaPrefix } from '../protocol/meta.js'
import { hasFinalMember } from '../protocol/methods.js'
import { traitsOf } from '../protocol/revision.js'
import type { Called, PendingRequest } from './request.js'
import type { Terms } from './terms.js'

/** Tasks remembered, and what they may weigh; the oldest is forgotten first, and its result is then result/unchecked. So is one whose id is no id. */
const mostTasks = 10_000
const mostWeight = 16 * 1024 * 1024
const longestId = 1000

const extension = `${metaPrefix}tasks`

/** A call that runs as a task: by what its result is judged, and by which terms. */
export interface Task {
  readonly called: Called
  readonly terms: Terms
  readonly weight: number
}

/**
 * Which tool a task runs, so that its final result is judged like a direct one: 2025-11-25 (`params.task`,
 * `tasks/result`) and the extension `io.modelcontextprotocol/tasks` (`resultType: "task"`, `tasks/get`).
 */
export class Tasks {
  readonly #tasks = new Map<string, Task>()
  #weight = 0

  /**
   * True when the result is a task's handle, asked for by the client, and nothing else: a result that has content as
   * well is judged as a result, for a lenient client would read it as one.
   */
  creates(request: PendingRequest, result: JsonObject): boolean {
    const { terms, called } = request
    const handle = traitsOf(terms.revision).modern ? modernHandle(terms, result) : legacyHandle(request, result)
    const id = member(handle, 'taskId')
    if (!isString(id) || called === undefined || hasFinalMember(result)) return false
    // A running task cannot be given another tool: what says so is judged as the result that it then is not.
    const known = this.#tasks.get(id)
    if (known !== undefined && known.called.name !== called.name) return false
    this.#remember(id, called, terms)
    return true
  }

  find(id: string | undefined): Task | undefined {
    return id === undefined ? undefined : this.#tasks.get(id)
  }

  #remember(id: string, { name, tool, listed }: Called, terms: Terms): void {
    if (id.length > longestId) return
    const weight = tool === undefined ? 0 : weigh(tool.outputSchemas)
    this.#weight += weight - (this.#tasks.get(id)?.weight ?? 0)
    // Of the declaration only that by which the result is judged.
    this.#tasks.set(id, { called: { name, tool: tool && { ...tool, definition: {}, inputSchemas: [] }, listed }, terms, weight })
    for (const [oldest, task] of this.#tasks) {
      if (this.#tasks.size <= mostTasks && this.#weight <= mostWeight) return
      this.#tasks.delete(oldest)
      this.#weight -= task.weight
    }
  }
}

const legacyHandle = ({ wantsTask }: PendingRequest, result: JsonObject): JsonObject | undefined => {
  const task = member(result, 'task')
  return wantsTask && isObject(task) ? task : undefined
}

const modernHandle = ({ capabilities }: Terms, result: JsonObject): JsonObject | undefined => {
  const extensions = member(capabilities, 'extensions')
  const declared = isObject(extensions) && isObject(member(extensions, extension))
  return declared && member(result, 'resultType') === 'task' ? result : undefined
}
