/** What is used of WebAssembly's JavaScript interface, which Node has, though its types do not. */
declare namespace WebAssembly {
  type Module = object
  const Module: new (bytes: Uint8Array) => Module
  const Instance: new (module: Module) => { readonly exports: object }
}
