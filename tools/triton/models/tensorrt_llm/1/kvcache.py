"""A paged KV cache: blocks are counted, and the prefixes of past prompts are remembered for reuse."""

from collections import OrderedDict


class KVCache:
    """Counts blocks. Not safe for use by several threads."""

    def __init__(self, blocks, tokens_per):
        self.max = blocks
        self.tokens_per = tokens_per
        self.used = 0
        self.reused = 0  # Grows for ever, as the backend's gauge of that name does.
        self._prefixes = OrderedDict()

    @property
    def free(self):
        return self.max - self.used

    def blocks_of(self, tokens):
        return -(-tokens // self.tokens_per)

    def take(self, blocks):
        """Take blocks if all of them are free."""
        if blocks > self.free:
            return False
        self.used += blocks
        return True

    def give_back(self, blocks):
        self.used -= blocks

    def note_prompt(self, tokens):
        """Count the leading full blocks of a prompt that were seen before, and remember all of its full blocks."""
        hits, leading = 0, True
        for end in range(self.tokens_per, len(tokens) + 1, self.tokens_per):
            prefix = hash(tokens[:end])
            leading = leading and prefix in self._prefixes
            hits += leading
            self._prefixes[prefix] = True
            self._prefixes.move_to_end(prefix)
        while len(self._prefixes) > self.max:
            self._prefixes.popitem(last=False)
        self.reused += hits
        return hits
