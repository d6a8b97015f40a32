/** What is used of WebAssembly's JavaScript interface, which is a part of Node and not of its types. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: object
  }
}
