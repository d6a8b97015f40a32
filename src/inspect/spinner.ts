/** A sign of life for somebody who waits at a terminal; nothing anywhere else. */
export interface Spinner {
  say(text: string): void
  stop(): void
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const everyMs = 80
const eraseLine = '\r\u001b[K'

/**
 * The cursor stays visible: one that is hidden would stay so when we are killed.
 * @param text must fit for a terminal
 */
export const spinner = (stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): Spinner => {
  if (!stream.isTTY || environment['TERM'] === 'dumb') return { say: () => {}, stop: () => {} }
  let doing = ''
  let turn = 0
  const draw = () => stream.write(`${eraseLine}${frames[turn++ % frames.length] ?? ''} ${doing}`)
  const timer = setInterval(draw, everyMs).unref()
  return {
    say(text) {
      doing = text
      draw()
    },
    stop() {
      clearInterval(timer)
      stream.write(eraseLine)
    },
  }
}
