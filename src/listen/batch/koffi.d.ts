/**
 * What of the package koffi is used here. It is an optional dependency, so that a machine that cannot install it runs and compiles
 * Skein all the same; its own declarations would be missing there.
 */
declare module 'koffi' {
  interface Library {
    // biome-ignore lint/suspicious/noExplicitAny: a C declaration has the types that it has.
    func(declaration: string): (...values: any[]) => any
  }

  export interface PollEvents {
    readonly readable: boolean
    readonly writable: boolean
  }

  export interface PollHandle {
    start(events: PollEvents, callback: (status: number, events: PollEvents) => void): void
    close(): void
  }

  const koffi: {
    /** The library of that path; `null` is the process itself with all that it is linked to, libc among them. */
    load(path: string | null): Library
    /** Of the last call of this thread. */
    errno(): number
    /** Where the memory of a typed array begins. */
    address(view: ArrayBufferView): bigint
    readonly node?: { poll?(fd: number, events: PollEvents, callback: (status: number, events: PollEvents) => void): PollHandle }
  }
  export default koffi
}
