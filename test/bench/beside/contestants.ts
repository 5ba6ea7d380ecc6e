/** Who is asked the same: the daemon, a bare `node:http`, and a daemon as Go writes them where Go is there. */

interface Contestant {
  readonly port: number
  readonly pid: number
}

export interface Contestants {
  readonly ours: Contestant
  readonly node: Contestant | undefined
  readonly go: Contestant | undefined
}
