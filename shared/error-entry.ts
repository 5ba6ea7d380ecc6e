/** What the table of errors is made of. */

export interface Entry<D> {
  readonly status: number
  /** The same call may work later; clients and loops read this, not the status. */
  readonly retry: boolean
  readonly text: (details: D) => string
  /** How the gateway says it; without one, as `faceOf` has it. */
  readonly gateway?: GatewayFace
}

/** A failure in the words of the data plane, which tell a program what to do. */
export interface GatewayFace {
  readonly code: string
  readonly status: number
  readonly action: string
  readonly doNot: string
}

export const entry = <D>(status: number, text: (details: D) => string, retry = false): Entry<D> => ({
  status,
  retry,
  text,
})

/** An entry that the gateway says in its own words; with the status of the entry unless given. */
export const faced = <D>(plain: Entry<D>, face: Omit<GatewayFace, 'status'> & { status?: number }): Entry<D> => ({
  ...plain,
  gateway: { status: plain.status, ...face },
})
