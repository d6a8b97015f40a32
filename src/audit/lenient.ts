import type { Audit } from './sink.js'

/** An operator's choice (`onFailure: continue`): what cannot be written is said, once each time that it begins, and counted; traffic goes on. */
export const lenient = (audit: Audit, { warn, failed }: { readonly warn: (message: string) => void; readonly failed: () => void }): Audit => {
  let isFailing = false
  const attempt = (act: () => void): void => {
    try {
      act()
      isFailing = false
    } catch (failure) {
      failed()
      if (!isFailing) warn(`${failure instanceof Error ? failure.message : String(failure)}; traffic goes on without a record (audit.onFailure: continue)`)
      isFailing = true
    }
  }
  return {
    get file() { return audit.file },
    write: (entry, payloads) => attempt(() => audit.write(entry, payloads)),
    close: () => attempt(() => audit.close()),
  }
}
