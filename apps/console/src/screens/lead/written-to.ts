import type { Timeline, TimelineDelivery } from '../../api/types.js';

/** The deliveries that write the lead somewhere. A notification about it is corrected and drafted into a batch with none of them. */
export const writtenTo = ({ deliveries }: Pick<Timeline, 'deliveries'>): TimelineDelivery[] =>
  deliveries.filter(({ service }) => service === 'crm-writer');
