// A server that costs next to nothing, on a pipe.
import { responseTo } from './answers.mjs'
import { eachLine } from './lines.mjs'

// Those who count what a relay takes know the server by it.
process.title = 'bench-server'
eachLine(process.stdin, line => {
  const answer = responseTo(line)
  if (answer === undefined) return
  process.stdout.cork()
  for (const piece of answer.pieces) process.stdout.write(piece)
  process.stdout.write('\n')
  process.nextTick(() => process.stdout.uncork())
})
process.stdin.on('end', () => process.exit())
