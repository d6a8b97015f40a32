import { isObject, isString, member, type JsonObject } from '../protocol/json.js'
import { traitsOf } from '../protocol/revision.js'
import type { Asked, Called } from './context.js'

/** Tasks remembered; the oldest is forgotten first, and its result is then result/unchecked. */
const mostTasks = 10_000

const extension = 'io.modelcontextprotocol/tasks'

/**
 * Which tool a task runs, so that its final result is judged like a direct one: 2025-11-25 (`params.task`,
 * `tasks/result`) and the extension `io.modelcontextprotocol/tasks` (`resultType: "task"`, `tasks/get`).
 */
export class Tasks {
  readonly #called = new Map<string, Called>()

  /**
   * True when the result is a task's handle, asked for by the client, and nothing else: a result that has content as
   * well is judged as a result, for a lenient client would read it as one.
   */
  creates(asked: Asked, result: JsonObject): boolean {
    if (member(result, 'content') !== undefined || member(result, 'structuredContent') !== undefined) return false
    const handle = traitsOf(asked.terms.revision).modern ? modernHandle(asked, result) : legacyHandle(asked, result)
    const id = handle && member(handle, 'taskId')
    if (!isString(id) || asked.call === undefined) return false
    // A running task cannot be given another tool: what says so is judged as the result that it then is not.
    const known = this.#called.get(id)
    if (known !== undefined && known.name !== asked.call.name) return false
    this.#remember(id, asked.call)
    return true
  }

  /** The call whose task `params.taskId` names. */
  calledBy(params: JsonObject | undefined): Called | undefined {
    const id = member(params, 'taskId')
    return isString(id) ? this.#called.get(id) : undefined
  }

  #remember(id: string, called: Called): void {
    this.#called.set(id, called)
    if (this.#called.size <= mostTasks) return
    for (const oldest of this.#called.keys()) {
      this.#called.delete(oldest)
      break
    }
  }
}

const legacyHandle = (asked: Asked, result: JsonObject): JsonObject | undefined => {
  const task = member(result, 'task')
  return isObject(member(asked.message.params, 'task')) && isObject(task) ? task : undefined
}

const modernHandle = (asked: Asked, result: JsonObject): JsonObject | undefined => {
  const extensions = member(asked.terms.capabilities, 'extensions')
  const declared = isObject(extensions) && isObject(member(extensions, extension))
  return declared && member(result, 'resultType') === 'task' ? result : undefined
}
