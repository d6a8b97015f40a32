import t from 'tap'
import { Holders } from '../../dist/workers/holders.js'

type Answer = 'held' | 'granted' | false

const session = { path: '/mcp', session: 'one' }

/** Workers from 1, each with what it answers; those without never do. */
const of = (...answers: readonly (Answer | undefined)[]) => {
  let asked = 0
  const holder = (answer: Answer | undefined, index: number) => {
    const call = () => ((asked += 1), answer === undefined ? new Promise<never>(() => undefined) : Promise.resolve(answer as never))
    return { number: index + 1, channel: { call } }
  }
  const all = answers.map(holder)
  return { holders: new Holders(() => all), asked: () => asked }
}

t.test('a session is with who has it; else with who was given it; else with who asks', async t => {
  const cases: readonly (readonly [answers: readonly (Answer | undefined)[], owner: number])[] = [
    [[false, 'held'], 2],
    [['granted', 'held'], 2],
    [[false, 'granted'], 2],
    [[false, false], 1],
    [[undefined, 'held'], 2],
    [[], 1],
  ]
  for (const [answers, owner] of cases) t.equal(await of(...answers).holders.whose(1, session), owner, JSON.stringify(answers))
})

t.test('who asks for a session that another asks for is told the same', async t => {
  const { holders, asked } = of(false, false)
  t.same(await Promise.all([holders.whose(2, session), holders.whose(1, session), holders.whose(1, { ...session, session: 'other' })]), [2, 2, 1])
  t.equal(asked(), 4)
  await new Promise(setImmediate)
  t.equal(await holders.whose(1, session), 1, 'an answer is not kept here')
})
