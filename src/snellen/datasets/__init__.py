"""Readers and writers of pictures with boxes: COCO, Roboflow, YOLO, VOC, WADE and others; splits and few-shot sets."""
