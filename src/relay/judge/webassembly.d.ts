/** What is used of WebAssembly's JavaScript interface, which Node has, though its types do not. */
declare namespace WebAssembly {
  type Module = object
  const Module: new (bytes: Uint8Array) => Module
  const Instance: new (module: Module) => { readonly exports: object }
}

/** AssemblyScript's types, for the file that both languages compile (layout.ts). */
type i32 = number
type u32 = number
type usize = number
