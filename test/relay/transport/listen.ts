import type { Transport, TransportEvent } from '#relay/transport/transport.js'

type Of<Type extends TransportEvent['type']> = Extract<TransportEvent, { type: Type }>

/** Things that come to hold, looked for again at each wake. */
export const waiter = () => {
  const waiting = new Set<() => void>()
  return {
    wake: () => {
      for (const look of waiting) look()
    },
    until: <Value>(find: () => Value | undefined) =>
      new Promise<Value>(resolve => {
        const look = () => {
          const found = find()
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
  }
}

/** Starts a transport and keeps what it tells; each wait is for what it told already or is still to tell. */
export const listen = (transport: Transport) => {
  const events: TransportEvent[] = []
  const asked: (readonly [exchange: string, key: string])[] = []
  const { wake, until } = waiter()
  transport.start(event => {
    events.push(event)
    wake()
  }, ({ name }, key) => void asked.push([name, key]))
  const all = <Type extends TransportEvent['type']>(type: Type) =>
    events.filter((event): event is Of<Type> => event.type === type)
  const lines = () => all('frame').map(({ frame }) => frame.bytes.toString())
  return {
    events,
    /** The responses whose schema the transport asked for. */
    asked,
    all,
    until,
    /** The frames until now, as text. */
    lines,
    /** The first so many frames. */
    frames: (count: number) => until(() =>
      (all('frame').length < count ? undefined : all('frame').slice(
        0, count,
      ).map(({ frame }) => frame.bytes))),
    /** The frame of that number, as text. */
    line: (index: number) => until(() => lines()[index]),
    first: <Type extends TransportEvent['type']>(type: Type) => until(() => all(type)[0]),
    /** The first event of a type in an exchange. */
    of: <Type extends 'head' | 'frame' | 'lost' | 'stream-ended'>(type: Type, name: string) =>
      until(() => all(type).find(event => 'exchange' in event && event.exchange.name === name)),
  }
}
