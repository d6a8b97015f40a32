import { parentPort } from 'node:worker_threads'
import type { SchemaProblem } from '../core/check.js'
import type { Json } from '../protocol/json.js'
import { Spent } from './evaluate/run.js'
import { inspect } from './inspect.js'
import type { Order, Report } from './job.js'
import { judge, planFor, type Plan } from './judge.js'

const mostPlans = 50

const plans = new Map<string, Plan>()
let pieces: string[] = []

const report = (message: Report) => parentPort?.postMessage(message)

const planOf = (text: string, subschemas: number): Plan | undefined => {
  const known = plans.get(text)
  if (known !== undefined) return known
  const inspected = inspect(JSON.parse(text) as Json, subschemas)
  if (inspected.root === undefined) return undefined
  const plan = planFor(inspected.root, inspected)
  const [oldest] = plans.keys()
  if (plans.size >= mostPlans && oldest !== undefined) plans.delete(oldest)
  plans.set(text, plan)
  return plan
}

const unchecked = (message: string): SchemaProblem => ({ kind: 'unchecked', path: '', message })

const take = (): Json => {
  const text = pieces.join('')
  pieces = []
  return JSON.parse(text) as Json
}

const validate = ({ id, schema, subschemas, ms }: Extract<Order, { type: 'judge' }>): readonly SchemaProblem[] => {
  const value = take()
  const plan = planOf(schema, subschemas)
  if (plan === undefined) return [unchecked('could not be judged: the schema cannot be used')]
  report({ type: 'begun', id })
  try {
    return judge(plan, value, { steps: 2 ** 30, deadline: performance.now() + ms, depth: 5000, anyPattern: true })
  } catch (error) {
    if (error instanceof Spent) return [unchecked(`could not be judged within ${ms} ms`)]
    return [unchecked('could not be judged: too deep, or beyond the engine')]
  }
}

parentPort?.on('message', (order: Order) => {
  if (order.type === 'piece') pieces.push(order.text)
  else if (order.type === 'judge') report({ type: 'done', id: order.id, problems: validate(order) })
  else report({ type: 'done', id: order.id, problems: inspect(take(), order.subschemas).problems })
})
