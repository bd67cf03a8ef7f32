"""The data-quality page: one small module a section, one template over all."""

from rpo._report.page import render, write_report

__all__ = ["render", "write_report"]
