/** Every call, killed and failed, on both runtimes. */
import './faults.test.ts'
