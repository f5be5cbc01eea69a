import type { Person } from '../people/person.js';
import { type ApproveBatchRequest, type ApprovedBatch, approveBatch } from './approve-batch.js';
import { type Approval, type ApproveRequest, approveItems } from './approve-items.js';
import { type Checked, checkBatch } from './check-batch.js';
import { type Command, type Commanded, commandBatch, type Edited, editBatch } from './command-batch.js';
import { type Draft, draftBatch } from './draft-batch.js';
import type { DraftRequest, EditRequest } from './filter.js';
import { itemsCsv } from './items-csv.js';
import {
  type BatchReport,
  type batchesRequest,
  type ItemsPage,
  type itemsRequest,
  listBatches,
  listItems,
  readReport,
} from './read-batches.js';
import type { BatchTools } from './tools.js';

type Parsed<S extends { _output: unknown }> = S['_output'];

/** What people do with replay batches, whichever door they come through. */
export class BatchDesk {
  /** @param wake tells the runner that there is something to run */
  constructor(
    private readonly tools: BatchTools,
    private readonly wake: () => void,
  ) {}

  list(request: Parsed<typeof batchesRequest>, person: Person): Promise<{ items: BatchReport[]; next?: string }> {
    return listBatches(this.tools.db, request, person);
  }

  report(batchId: string, person: Person): Promise<BatchReport> {
    return readReport(this.tools.db, batchId, person);
  }

  items(batchId: string, page: Parsed<typeof itemsRequest>, person: Person): Promise<ItemsPage> {
    return listItems(this.tools.db, { batchId, person, page });
  }

  csv(batchId: string, person: Person): Promise<AsyncIterable<string>> {
    return itemsCsv(this.tools.db, batchId, person);
  }

  draft(request: DraftRequest, person: Person): Promise<Draft> {
    return draftBatch(this.tools, request, person);
  }

  edit(batchId: string, request: EditRequest, person: Person): Promise<Edited> {
    return editBatch(this.tools, request, { batchId, person });
  }

  check(batchId: string, person: Person): Promise<Checked> {
    return checkBatch(this.tools, batchId, person);
  }

  async approve(batchId: string, request: ApproveBatchRequest, person: Person): Promise<ApprovedBatch> {
    const approved = await approveBatch(this.tools, batchId, { request, person });
    this.wake();
    return approved;
  }

  async approveAlone(request: ApproveRequest, person: Person): Promise<Approval> {
    const approved = await approveItems(this.tools, request, person);
    this.wake();
    return approved;
  }

  async command(command: Command, given: { batchId: string; person: Person; reason?: string }): Promise<Commanded> {
    const commanded = await commandBatch(this.tools, command, given);
    this.wake();
    return commanded;
  }
}
