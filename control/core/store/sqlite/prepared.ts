/** Statements are written with kysely, compiled and prepared once at open, and run synchronously. */
import type { Database, Statement } from 'better-sqlite3'
import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type CompiledQuery,
  type QueryExecutorProvider,
} from 'kysely'
import type { Tables } from './tables.ts'

/** Builds queries, never runs them: execution is by the prepared statements alone. */
export const query = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** For LIMIT: one that is bound has SQLite plan the statement anew whenever it is bound (`TK_VARIABLE` in its `sqlite3ExprIsInteger`). */
export const one = sql.lit(1)

export interface Prepared<In, Row> {
  all(input: In): Row[]
  get(input: In): Row | undefined
  /** Number of rows changed. */
  run(input: In): number
}

interface Compilable<Row> {
  compile(provider: QueryExecutorProvider): CompiledQuery<Row>
}

/** Stands in a query for a value that is bound at each run. */
class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const binder = (parameters: readonly unknown[]) => (input: object) =>
  parameters.map(value => (value instanceof Slot ? (input as Record<string, unknown>)[value.name] : value))

export type Prepare = <In extends object, Row>(build: (given: In) => Compilable<Row>) => Prepared<In, Row>

/** `prepare((given: { uid: string }) => query.selectFrom('resources').where('uid', '=', given.uid))` */
export const preparer =
  (db: Database): Prepare =>
  (build: (given: never) => Compilable<unknown>) => {
    const slots = new Proxy({}, { get: (_, name) => new Slot(String(name)) })
    const { sql, parameters } = build(slots as never).compile(query)
    const statement = db.prepare<unknown[], never>(sql)
    const bind = binder(parameters)
    return {
      all: input => statement.all(...bind(input)),
      get: input => statement.get(...bind(input)),
      run: input => statement.run(...bind(input)).changes,
    }
  }

/**
 * For queries whose shape depends on the request: one statement per distinct text, kept; the shapes are few.
 * `exact` reads integers as bigint.
 */
export const shaped = (db: Database, { exact = false } = {}) => {
  const statements = new Map<string, Statement<unknown[]>>()
  return <Row>(built: Compilable<Row>): Row[] => {
    const { sql, parameters } = built.compile(query)
    let statement = statements.get(sql)
    if (!statement) {
      statement = db.prepare<unknown[]>(sql).safeIntegers(exact)
      statements.set(sql, statement)
    }
    return statement.all(...parameters) as Row[]
  }
}
