/** Runs of scheduled commands: one row each, the oldest of a schedule giving way to the newest. */

export type ScheduleRunStatus = 'submitting' | 'succeeded' | 'failed'

export interface ScheduleRun {
  readonly id: string
  /** Uid of the record that the schedule lives in; its runs go when it goes. */
  readonly owner: string
  readonly workspace: string
  /** Name of that record. */
  readonly sandbox: string
  /** Name of the schedule. */
  readonly schedule: string
  readonly status: ScheduleRunStatus
  /** HTTP status of submitting the command; 0 while it is submitted and when the sandbox could not be reached. */
  readonly statusCode: number
  readonly processName: string
  /** Of the command, s; 0 for none. */
  readonly timeoutS: number
  /** Why it was not accepted; '' when it was. */
  readonly error: string
  /** It makes up for fires that were due while the server was down. */
  readonly catchUp: boolean
  /** When it was due and when it was written down, epoch ms. */
  readonly dueAt: number
  readonly createdAt: number
}

export type ScheduleRunResult = Pick<ScheduleRun, 'status' | 'statusCode' | 'processName' | 'error'>

export interface ScheduleRunQuery {
  readonly workspace: string
  /** Uid; every record of the workspace unless given. */
  readonly owner?: string | undefined
  readonly status?: ScheduleRunStatus | undefined
  /** Created then, epoch ms, both included. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** In a name, an error or a process name; lower case. */
  readonly q?: string | undefined
  readonly order: 'desc' | 'asc'
  readonly limit: number
  /** Continues after this position of the same query. */
  readonly after?: number | undefined
}

export interface ScheduleRunPage {
  readonly runs: readonly ScheduleRun[]
  /** Where the next page continues; undefined at the end. */
  readonly next: number | undefined
}

export interface ScheduleTally {
  readonly succeeded: number
  readonly failed: number
  readonly submitting: number
}

export interface Schedules {
  runs(query: ScheduleRunQuery): Promise<ScheduleRunPage>
  /** Runs whose submission had not ended; for the start of a host. */
  unfinished(): Promise<readonly ScheduleRun[]>
  /** How many were created in between, both included, by status. */
  tally(workspace: string, since: number, until: number): Promise<ScheduleTally>
  /** How many runs of a workspace, or of one record, there are. */
  count(workspace: string, owner?: string): Promise<number>
}
