import { parentPort } from 'node:worker_threads'
import { CustomsError } from '#relay/base/errors.js'
import { type Answer, readLogs, type Order } from './reading.js'

// The script of a reader thread: it reads the logs that it is told to, and answers with their totals.

const answer = (message: Answer) => parentPort?.postMessage(message)

parentPort?.on('message', (order: Order) => {
  try {
    answer({ part: readLogs(order, bytes => answer({ bytes })) })
  } catch (error) {
    if (!(error instanceof CustomsError)) throw error
    answer({ code: error.code, message: error.message })
  }
})
