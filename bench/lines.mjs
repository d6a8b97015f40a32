/** Hears each line of a stream, as bytes without their LF. */
export const eachLine = (stream, hear) => {
  let pieces = []
  stream.on('data', chunk => {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, end)
      hear(pieces.length === 0 ? last : Buffer.concat([...pieces, last]))
      pieces = []
      from = end + 1
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from))
  })
}
